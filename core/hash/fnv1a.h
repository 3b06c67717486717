// fnv1a.h: FNV-1a with 128 bits of state (Fowler, Noll, Vo; IETF draft-eastlake-fnv), the hash that is simplest to
// write again elsewhere, and what makes a KeyHash of it. Slow for long items: a multiplication per byte. Not for input
// that an attacker chooses. Thread-safe: pure functions.
//
// Why mixed   FNV's multiplier has few bits set (2^88 + 0x13B), and carries run upwards only. Of short items the upper
//             bits of each half have hardly been reached, the lowest bit of all is the parity of the bytes' lowest
//             bits, and items that differ in their last byte differ by a small multiple of 0x13B. Filters place by the
//             upper bits of the low half and take the pattern from the high one: unmixed, counters and URLs with a
//             common prefix would crowd into a few lines. So the state is finished as MurmurHash3 finishes its own: a
//             bijection, which makes no two items collide that did not before.
// Why a seed in front   rather than another offset basis: then what is hashed is the seed's 8 bytes, little-endian,
//             and the item's, by plain FNV-1a, which any FNV-1a can do.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/hash/key_hash.h"

namespace bitsieve::core {

using Fnv1aState = unsigned __int128;
inline constexpr Fnv1aState kFnv1aOffsetBasis = static_cast<Fnv1aState>(0x6c62272e07bb0142) << 64 | 0x62b821756295c58d;

// Returns plain FNV-1a, continued from `state`.
Fnv1aState Fnv1a(std::string_view bytes, Fnv1aState state = kFnv1aOffsetBasis);

// Returns the hash of the seed and the item, mixed.
KeyHash HashFnv1a(std::string_view item, uint64_t seed);

}  // namespace bitsieve::core
