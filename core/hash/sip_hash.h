// sip_hash.h: SipHash (Aumasson, Bernstein, "SipHash: a fast short-input PRF", 2012): a keyed pseudo-random function.
// Who does not know the key cannot choose items that collide, nor items that a filter takes for others, better than by
// guessing. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/hash/key_hash.h"

namespace bitsieve::core {

struct SipKey {
  uint64_t first;  // of the key's 16 bytes, little-endian
  uint64_t second;
};

// Returns SipHash-2-4 with 128 bits of output, its authors' later variant of double width. `low` is the first 8 bytes
// of the output, little-endian.
KeyHash SipHash(std::string_view bytes, const SipKey& key);

// Returns SipHash-1-3, of 64 bits, of the length of `bytes` as 8 bytes, little-endian, and then the bytes: what Rust's
// default hasher makes of a slice.
uint64_t SipHash13OfSlice(std::string_view bytes, const SipKey& key);

// The key of a filter: the seed and its Mix64. A key so made has the 64 bits of the seed for its secret, no more:
// anyone who could try 2^64 seeds against a filter's answers would find it.
SipKey SipKeyOfSeed(uint64_t seed);

}  // namespace bitsieve::core
