// tick_clock.h: a counter of the processor, for durations that are measured around every batch of commands: reading it
// costs half of what std::chrono::steady_clock costs. Elsewhere than on x86-64 it is the steady clock itself.
// Thread-safe: static functions. A program that defines them itself, as the simulation does, replaces the clock: so
// tick_clock.cc is by itself in its object file.
#pragma once

#include <cstdint>

namespace bitsieve::core {

class TickClock {
 public:
  static uint64_t Now();
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
