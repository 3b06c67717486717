// mix64.h: the finalisers of MurmurHash3 for 64 and for 128 bits (Appleby; public domain): bijections in which each bit
// of the input changes each bit of the output with a chance of about a half. Thread-safe: pure functions.
#pragma once

#include <cstdint>

#include "core/base/always_inline.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

BITSIEVE_ALWAYS_INLINE uint64_t Mix64(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccd;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53;
  return x ^ x >> 33;
}

BITSIEVE_ALWAYS_INLINE KeyHash Mix128(KeyHash x) {
  x.low += x.high;
  x.high += x.low;
  x.low = Mix64(x.low);
  x.high = Mix64(x.high);
  x.low += x.high;
  x.high += x.low;
  return x;
}

}  // namespace bitsieve::core
