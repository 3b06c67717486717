// replay_clock.h: the system's time, but while a log is replayed the time at which things happened then. Filters that
// age and are replayed into ask it, then and ever after. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"

namespace bitsieve::server {

class ReplayClock final : public core::Clock {
 public:
  uint64_t NowMs() const override {
    const uint64_t set_ms = set_ms_.load(std::memory_order_relaxed);
    return set_ms != 0 ? set_ms : core::SystemClock().NowMs();
  }
  // 0: the system's time again.
  void Set(uint64_t ms) { set_ms_.store(ms, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> set_ms_{0};  // relaxed: set and asked by the thread that replays
};

}  // namespace bitsieve::server
