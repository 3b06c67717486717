// wall_clock.h: the time of day, and a time that never jumps, right within a tick of the kernel (1 to 4 ms), at a fifth
// of the cost of the exact ones. Thread-safe.
#pragma once

#include <time.h>

#include <cstdint>

namespace bitsieve::core {

// Milliseconds since 1970, UTC.
inline int64_t CoarseUnixMs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Milliseconds since the machine started.
inline int64_t CoarseMonotonicMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace bitsieve::core
