// key_hash.h: an item, hashed once. Every filter type works on these 128 bits and never sees the item itself.
// Idea: the low half places (which line, which first bit), the high half makes the pattern there, so that the two are
// independent however large the filter is. Thread-safe: plain values.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/always_inline.h"
#include "core/hash/hash_kind.h"

namespace bitsieve::core {

struct KeyHash {
  uint64_t low;
  uint64_t high;

  bool operator==(const KeyHash&) const = default;
};

// XXH3-128 of the item under the filter's seed. Part of every persisted format: it never changes for a given kind.
KeyHash HashItem(std::string_view item, uint64_t seed);
// Does the same into memory. GCC 12 stores a result in two registers word by word, then copies both words at once; that
// copy waits until all that was loaded before has arrived, so that items would be processed one after the other.
void HashItemInto(KeyHash& hash, std::string_view item, uint64_t seed);
// Hashes under any of the hash functions but kValkeyBloom; those without a seed ignore it.
KeyHash HashItem(HashKind kind, std::string_view item, uint64_t seed);
// Hashes each item, in order. The spans have equal lengths.
void HashItems(HashKind kind, std::span<const std::string_view> items, uint64_t seed, std::span<KeyHash> hashes);

// The high 64 bits of a * b: maps a uniform 64-bit `a` onto [0, b) (Lemire, "Fast Random Integer Generation in an
// Interval", 2019, section 3), without the bias or the division of a modulus.
BITSIEVE_ALWAYS_INLINE uint64_t MultiplyHigh(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}

}  // namespace bitsieve::core
