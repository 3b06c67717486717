// clock.h: the time of day as the network side tells it. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace bitsieve::server {

inline int64_t UnixMilliseconds() {
  using std::chrono::system_clock;
  return std::chrono::duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace bitsieve::server
