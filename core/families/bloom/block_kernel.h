// block_kernel.h: the bit work of blocked Bloom filters: one function set per instruction set, all giving the same
// bits; the best one that the processor has is chosen once.
//
// Layout   an array of lines of 512 bits = 16 lanes of 32 bits. An item sets one bit in each of k lanes of its line;
//          which lanes is looked up in a table of 1024 random k-subsets; which bit of a lane is the top 5 bits of a
//          32-bit word of the hash times the lane's odd constant. With two lines per item, each has its own word and
//          subset.
// Hashing  line 0         = low * lines >> 64                           (its top bits)
//          line 1         = the m-th of the other lines, m = (low * kSecondLine mod 2^64) * (lines - 1) >> 64
//          lane subset j  = bits [10j, 10j+10) of low                   (its bottom bits)
//          pattern word j = bits [32j, 32j+32) of high
// All of it is persisted with the filters and never changes for the type blocked; golden tests hold it.
//
// Threads: may_contain may run beside one add, without a lock. Adders exclude each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/always_inline.h"
#include "core/families/bloom/add_progress.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

inline constexpr unsigned kLanes = 16;
inline constexpr unsigned kLaneBits = 32;
inline constexpr unsigned kLaneSetBits = 10;
inline constexpr size_t kLaneSets = size_t{1} << kLaneSetBits;
inline constexpr uint64_t kSecondLine = 0xD6E8FEB86659FD93ULL;

// The odd constants that spread a pattern word over the lanes.
inline constexpr std::array<uint32_t, kLanes> kLaneSalts{
    0x47B6137BU, 0x44974D91U, 0x8824AD5BU, 0xA2B7289DU, 0x705495C7U, 0x2DF1424BU, 0x9EFC4947U, 0x5C6BFB31U,
    0x9E3779B1U, 0x85EBCA77U, 0xC2B2AE3DU, 0x27D4EB2FU, 0x165667B1U, 0xD3A2646DU, 0xFD7046C5U, 0xB55A4F09U};

// The 1024 k-subsets of the lanes, as masks; 1 <= k <= kLanes. Lives for ever.
std::span<const uint16_t, kLaneSets> LaneSets(unsigned k);

class BitMemory;

struct BlockArray {
  std::byte* lines;   // aligned to a line; if nothing is added, to a word of 64 bits
  BitMemory* memory;  // the lines' memory; notified of what add is about to change
  uint64_t line_count;
  uint32_t lines_per_item;  // 1 or 2; with 2, line_count >= 2
  const uint16_t* lane_sets;
};

struct BlockKernel {
  const char* name;
  // present[i] = 1 where hashes[i] is there; other elements are left as they are.
  void (*may_contain)(const BlockArray& array, const KeyHash* hashes, size_t count, uint8_t* present);
  // Adds in order the hashes whose skip[i] is 0. added[i] = 1 if hashes[i] was new, else 0. Stops before the first new
  // item that `room` does not cover.
  AddProgress (*add)(const BlockArray& array, const KeyHash* hashes, size_t count, const uint8_t* skip, uint8_t* added,
                     uint64_t room);
  // Adds one hash for which there is room, while no image is open. Returns the number of bits that were clear.
  unsigned (*add_one)(const BlockArray& array, const KeyHash& hash);
};

// Every kernel that this build has and this processor can run, the best first; the last is the portable one.
std::span<const BlockKernel* const> BlockKernels();
inline const BlockKernel& BestBlockKernel() { return *BlockKernels().front(); }

BITSIEVE_ALWAYS_INLINE uint64_t FirstLine(const BlockArray& array, const KeyHash& hash) {
  return MultiplyHigh(hash.low, array.line_count);
}
BITSIEVE_ALWAYS_INLINE uint64_t SecondLine(const BlockArray& array, const KeyHash& hash, uint64_t first) {
  const uint64_t other = MultiplyHigh(hash.low * kSecondLine, array.line_count - 1);
  return other + (other >= first ? 1 : 0);
}
// Starts loading the lines of a hash.
BITSIEVE_ALWAYS_INLINE void PrefetchLines(const BlockArray& array, const KeyHash& hash) {
  const uint64_t first = FirstLine(array, hash);
  __builtin_prefetch(array.lines + first * 64);
  if (array.lines_per_item == 2) __builtin_prefetch(array.lines + SecondLine(array, hash, first) * 64);
}

}  // namespace bitsieve::core
