// slowdown.h: by how much sanitizers slow tests down, which then make so many times fewer lookups. Thread-safe: a
// constant.
#pragma once

#include <cstdint>

namespace bitsieve::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr uint64_t kSlowdown = 20;
#else
inline constexpr uint64_t kSlowdown = 1;
#endif

}  // namespace bitsieve::test
