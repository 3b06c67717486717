#include "core/base/clock.h"

#include <ctime>

namespace bitsieve::core {

namespace {

int64_t ReadMs(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

class CoarseClock final : public Clock {
 public:
  int64_t WallMs() const override { return ReadMs(CLOCK_REALTIME_COARSE); }
  int64_t MonotonicMs() const override { return ReadMs(CLOCK_MONOTONIC_COARSE); }
};

}  // namespace

const Clock& SystemClock() {
  static const CoarseClock clock;
  return clock;
}

FilterClock::FilterClock() : boot_ms_(ReadMs(CLOCK_REALTIME) - ReadMs(CLOCK_BOOTTIME)) {}

int64_t FilterClock::WallMs() const {
  const int64_t replayed_ms = replayed_ms_.load(std::memory_order_relaxed);
  return replayed_ms != 0 ? replayed_ms : boot_ms_ + ReadMs(CLOCK_BOOTTIME);
}

}  // namespace bitsieve::core
