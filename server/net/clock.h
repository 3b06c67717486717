// clock.h: the time of day as the network side tells it: right within a tick of the kernel (1 to 4 ms), at a fifth of
// the cost of the exact one. Thread-safe.
#pragma once

#include <time.h>

#include <cstdint>

namespace bitsieve::server {

inline int64_t UnixMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace bitsieve::server
