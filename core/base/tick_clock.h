// tick_clock.h: a counter of the processor, for durations that are measured around every batch of commands: reading it
// costs half of what std::chrono::steady_clock costs. Elsewhere than on x86-64 it is the steady clock itself.
// Thread-safe: static functions.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace bitsieve::core {

class TickClock {
 public:
  static uint64_t Now() {
#if defined(__x86_64__)
    return __rdtsc();
#else
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
  }
  // 0 if `end` is before `begin`, as between processors whose counters differ.
  static uint64_t Nanoseconds(uint64_t begin, uint64_t end) {
    static const double kNanosecondsPerTick = MeasureRate();
    return end <= begin ? 0 : static_cast<uint64_t>(static_cast<double>(end - begin) * kNanosecondsPerTick);
  }

 private:
  // Takes two milliseconds.
  static double MeasureRate();
};

}  // namespace bitsieve::core
