// latency_monitor.h: when something took longer than latency-monitor-threshold, by what it was, for LATENCY. Of each
// event the last 160 seconds in which it happened are kept, each with its longest time. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "core/base/mutex.h"

namespace bitsieve::server {

enum class LatencyEvent : uint8_t { kCommand, kFastCommand, kEventLoop, kLogSync, kSnapshot };
inline constexpr size_t kLatencyEvents = 5;

class LatencyMonitor {
 public:
  struct Sample {
    int64_t unix_s = 0;
    uint64_t ms = 0;
  };
  // The recorded times of one event.
  struct History {
    std::deque<Sample> samples;  // oldest first
    uint64_t longest_ms = 0;     // since the last Reset()
  };

  static constexpr std::array<std::string_view, kLatencyEvents> kNames = {"command", "fast-command", "event-loop",
                                                                          "log-sync", "snapshot"};
  // Ignores case. Returns nothing if there is no such event.
  static std::optional<LatencyEvent> Find(std::string_view name);

  // Milliseconds from which on Record() keeps something; 0: it keeps nothing.
  void set_threshold_ms(uint64_t ms) { threshold_ms_.store(ms, std::memory_order_relaxed); }
  uint64_t threshold_ms() const { return threshold_ms_.load(std::memory_order_relaxed); }

  void Record(LatencyEvent event, int64_t unix_s, uint64_t ms);
  History Of(LatencyEvent event) const;
  // Whether there was anything to forget.
  bool Reset(LatencyEvent event);

 private:
  static constexpr size_t kMaxSamples = 160;

  std::atomic<uint64_t> threshold_ms_{0};  // relaxed: an option
  mutable core::Mutex mutex_;
  std::array<History, kLatencyEvents> histories_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
