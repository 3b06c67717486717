// mix64.h: the finaliser of MurmurHash3 for 64 bits (Appleby; public domain): a bijection in which each bit of the
// input changes each bit of the output with a chance of about a half. Thread-safe: a pure function.
#pragma once

#include <cstdint>

#include "core/base/always_inline.h"

namespace bitsieve::core {

BITSIEVE_ALWAYS_INLINE uint64_t Mix64(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccd;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

}  // namespace bitsieve::core
