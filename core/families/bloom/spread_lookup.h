// spread_lookup.h: lookups of items that are spread over a whole array, of bits or of counters: an item is there if all
// its k places are set. A processor cannot predict at which place the lookup of an absent item ends, and a wrong guess
// costs more than some loads: so the first places have no branch each. Free functions. Thread-safe if is_set is.
//
// Places         a class that gives the places of a hash in a Places::Range, one after the other (positions.h)
// is_set(place)  returns 1 if the place is set, else 0
// load(place)    starts loading the cache line of the place
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/always_inline.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

// The places that are examined together. In a full filter, seven of eight absent items are found out by them; a fourth
// would be a cache line more for all of these.
inline constexpr uint32_t kFirstPlaces = 3;

template <class Places>
struct SpreadArray {
  typename Places::Range range;
  uint32_t hash_functions;  // k
  uint64_t bytes;
};

// Returns 1 if the first places are set, else 0. Then `places` gives the others.
template <class Places>
BITSIEVE_ALWAYS_INLINE uint64_t AreFirstSet(Places& places, uint32_t hash_functions, const auto& is_set) {
  uint64_t are_set = 1;
  for (uint32_t i = 0; i < std::min(kFirstPlaces, hash_functions); ++i) are_set &= is_set(places.Next());
  return are_set;
}

template <class Places>
BITSIEVE_ALWAYS_INLINE bool AreOthersSet(Places& places, uint32_t hash_functions, const auto& is_set) {
  for (uint32_t i = kFirstPlaces; i < hash_functions; ++i) {
    if (is_set(places.Next()) == 0) return false;
  }
  return true;
}

template <class Places>
BITSIEVE_ALWAYS_INLINE bool IsPresent(const SpreadArray<Places>& array, const KeyHash& hash, const auto& is_set) {
  Places places(hash, array.range);
  return AreFirstSet(places, array.hash_functions, is_set) != 0 && AreOthersSet(places, array.hash_functions, is_set);
}

// Sets present[i] to 1 if hashes[i] is there. The spans have equal lengths. The first places of many items are examined
// before the other places of those that may be there, which are loaded together.
template <class Places>
void MarkPresent(const SpreadArray<Places>& array, std::span<const KeyHash> hashes, std::span<uint8_t> present,
                 const auto& is_set, const auto& load) {
  constexpr size_t kTogether = 64;
  constexpr uint64_t kCachedBytes = 4 << 20;  // below, processors hide the loading as well
  struct Remaining {
    Places places;  // after the first
    size_t index;
  };
  if (hashes.size() == 1) {
    if (IsPresent(array, hashes[0], is_set)) present[0] = 1;
    return;
  }
  alignas(Remaining) std::array<std::byte, kTogether * sizeof(Remaining)> memory;  // not initialized
  auto* const remaining = reinterpret_cast<Remaining*>(memory.data());
  for (size_t from = 0; from < hashes.size(); from += kTogether) {
    const size_t to = std::min(from + kTogether, hashes.size());
    size_t count = 0;
    for (size_t i = from; i < to; ++i) {
      Places places(hashes[i], array.range);
      const uint64_t may_be_there = AreFirstSet(places, array.hash_functions, is_set);
      std::construct_at(remaining + count, Remaining{places, i});
      count += may_be_there;
    }
    if (array.bytes > kCachedBytes) {
      for (size_t i = 0; i < count; ++i) {
        Places places = remaining[i].places;
        for (uint32_t j = kFirstPlaces; j < array.hash_functions; ++j) load(places.Next());
      }
    }
    for (size_t i = 0; i < count; ++i) {
      if (AreOthersSet(remaining[i].places, array.hash_functions, is_set)) present[remaining[i].index] = 1;
    }
  }
}

}  // namespace bitsieve::core
