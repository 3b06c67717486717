#include "core/base/tick_clock.h"

#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bitsieve::core {

#if defined(__x86_64__)

uint64_t TickClock::Now() { return __rdtsc(); }

namespace {

using Clock = std::chrono::steady_clock;

struct Reading {
  uint64_t ticks;
  Clock::time_point time;
};

// Both clocks at one moment: of some attempts the one that was interrupted least.
Reading ReadBoth() {
  Reading best{};
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 8; ++i) {
    const uint64_t before = TickClock::Now();
    const Clock::time_point time = Clock::now();
    const uint64_t after = TickClock::Now();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {before + shortest / 2, time};
  }
  return best;
}

}  // namespace

double TickClock::MeasureRate() {
  constexpr std::chrono::milliseconds kLength{2};
  const Reading begin = ReadBoth();
  std::this_thread::sleep_for(kLength);
  const Reading end = ReadBoth();
  const std::chrono::duration<double, std::nano> passed = end.time - begin.time;
  return passed.count() / static_cast<double>(end.ticks - begin.ticks);
}

#else

uint64_t TickClock::Now() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

double TickClock::MeasureRate() {
  using Period = std::chrono::steady_clock::period;
  return 1e9 * Period::num / Period::den;
}

#endif

}  // namespace bitsieve::core
