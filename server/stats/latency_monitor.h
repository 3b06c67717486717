// latency_monitor.h: when something took longer than latency-monitor-threshold, by what it was, for LATENCY: the last
// and the longest time of each event. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/mutex.h"

namespace bitsieve::server {

enum class LatencyEvent : uint8_t { kCommand, kFastCommand, kEventLoop, kLogSync, kSnapshot };
inline constexpr size_t kLatencyEvents = 5;

class LatencyMonitor {
 public:
  // The recorded times of one event.
  struct Times {
    int64_t last_unix_s = 0;  // the latest second in which it happened
    uint64_t last_ms = 0;     // the longest time of that second
    uint64_t longest_ms = 0;  // since the last Reset(); 0: it did not happen
  };

  static constexpr std::array<std::string_view, kLatencyEvents> kNames = {"command", "fast-command", "event-loop",
                                                                          "log-sync", "snapshot"};
  // Ignores case. Returns nothing if there is no such event.
  static std::optional<LatencyEvent> Find(std::string_view name);

  // Milliseconds from which on Record() keeps something; 0: it keeps nothing.
  void set_threshold_ms(uint64_t ms) { threshold_ms_.store(ms, std::memory_order_relaxed); }
  uint64_t threshold_ms() const { return threshold_ms_.load(std::memory_order_relaxed); }

  void Record(LatencyEvent event, int64_t unix_s, uint64_t ms);
  Times Of(LatencyEvent event) const;
  // Whether there was anything to forget.
  bool Reset(LatencyEvent event);

 private:
  std::atomic<uint64_t> threshold_ms_{0};  // relaxed: an option
  mutable core::Mutex mutex_;
  std::array<Times, kLatencyEvents> times_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
