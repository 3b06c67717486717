// manual_clock.h: a clock that tests set by hand. Both of its times are the same. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/clock.h"

namespace bitsieve::test {

class ManualClock final : public core::Clock {
 public:
  int64_t WallMs() const override { return now_ms; }
  int64_t MonotonicMs() const override { return now_ms; }
  std::atomic<int64_t> now_ms{1'700'000'000'000};
};

}  // namespace bitsieve::test
