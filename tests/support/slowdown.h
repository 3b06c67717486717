// slowdown.h: by how much sanitizers, or counting branches, slow tests down, which then make that many times fewer
// lookups. Thread-safe: a constant.
#pragma once

#include <cstdint>

namespace bitsieve::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(BITSIEVE_COVERAGE)
inline constexpr uint64_t kSlowdown = 20;
#else
inline constexpr uint64_t kSlowdown = 1;
#endif

}  // namespace bitsieve::test
