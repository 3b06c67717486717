// ribbon_kernel.h: the bits of a frozen ribbon filter: how they lie, how an item finds its own, and the two loops that
// must be fast, one set for each instruction set, all giving the same bits; the best one is chosen once.
//
// Idea     each item is a linear equation over bits: the parity of a 128-bit window of the solution, masked by the
//          item's coefficients, is the item's result. r columns are r such systems with equal coefficients, so that an
//          item that was never added fits by chance with probability 2^-r.
// Shards   items are divided by the top bits of their key; each shard is a system of its own under a seed of its own.
// Layout   64-bit words: two words for each shard, then the shards' blocks, then kSpareWords words of 0.
//            record    word 0: the index of the shard's first block word
//                      word 1: slots in bits 0 to 23, split in bits 24 to 47, seed in bits 48 to 55
//            block b   slots 64 b to 64 b + 63: one word for each column, slot 64 b + i in bit i. It has r columns, and
//                      one more from the block on in which the split lies.
//          A window lies in three neighbouring blocks at most: 24 r bytes in a row.
// Split    items whose window starts below the split are compared in r columns, the others in r + 1: so any rate
//          between 2^-r and 2^-(r + 1) is met, not powers of two alone.
// All of it is persisted and never changes for the type ribbon; golden tests hold it.
//
// Thread-safe: tables are immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/always_inline.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

inline constexpr uint32_t kRibbonWidth = 128;
inline constexpr uint32_t kRibbonBlockSlots = 64;
inline constexpr uint32_t kMaxRibbonColumns = 31;            // the extra one included
inline constexpr uint64_t kMaxRibbonSlots = (1U << 24) - 1;  // of a shard
inline constexpr uint64_t kSpareWords = 48;  // after the last block: a lookup reads whole windows of whole vectors

// An item's equation, or one that came out of adding several.
struct RibbonRow {
  uint64_t low = 0;  // coefficients of the window's slots 0 to 63; bit 0 is set in all but an empty row
  uint64_t high = 0;
  uint32_t result = 0;  // bit c: of column c
};

struct RibbonShard {
  uint64_t offset;  // of its blocks, in words from the table's begin
  uint32_t slots;   // a multiple of 64, at least 128
  uint32_t split;   // in [0, starts]
  uint32_t seed;    // below 256

  BITSIEVE_ALWAYS_INLINE uint32_t starts() const { return slots - kRibbonWidth + 1; }
  BITSIEVE_ALWAYS_INLINE uint32_t split_block() const { return split / kRibbonBlockSlots; }
  // Words before block b.
  BITSIEVE_ALWAYS_INLINE uint64_t WordsBefore(uint64_t b, uint32_t columns) const {
    return b * columns + (b > split_block() ? b - split_block() : 0);
  }
  uint64_t Words(uint32_t columns) const { return WordsBefore(slots / kRibbonBlockSlots, columns); }
};

BITSIEVE_ALWAYS_INLINE RibbonShard ReadShard(const uint64_t* record) {
  return {record[0], static_cast<uint32_t>(record[1] & 0xFFFFFF), static_cast<uint32_t>(record[1] >> 24 & 0xFFFFFF),
          static_cast<uint32_t>(record[1] >> 48)};
}
inline void WriteShard(const RibbonShard& shard, uint64_t* record) {
  record[0] = shard.offset;
  record[1] = shard.slots | static_cast<uint64_t>(shard.split) << 24 | static_cast<uint64_t>(shard.seed) << 48;
}

struct RibbonTable {
  const uint64_t* words;
  uint64_t shards;
  uint32_t columns;  // r
};

// An item's key: half of its hash. 0 is left free, to mean "none" in tables of keys.
BITSIEVE_ALWAYS_INLINE uint64_t RibbonKey(const KeyHash& hash) { return hash.low != 0 ? hash.low : 1; }

// The key under a shard's seed: murmur3's finaliser, since shards of equal top bits must not look alike.
BITSIEVE_ALWAYS_INLINE uint64_t SeededKey(uint64_t key, uint32_t seed) {
  uint64_t x = key + seed * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDULL;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53ULL;
  return x ^ (x >> 33);
}
BITSIEVE_ALWAYS_INLINE uint32_t StartOf(uint64_t seeded, uint32_t starts) {
  return static_cast<uint32_t>(MultiplyHigh(seeded, starts));
}
// Both halves of the product together: all bits of the word take part in all of the result.
BITSIEVE_ALWAYS_INLINE uint64_t Folded(uint64_t word, uint64_t factor) {
  const unsigned __int128 product = static_cast<unsigned __int128>(word) * factor;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
BITSIEVE_ALWAYS_INLINE RibbonRow RowOf(uint64_t seeded) {
  return {Folded(seeded, 0xA0761D6478BD642FULL) | 1, Folded(seeded, 0xE7037ED1A0B428DBULL),
          static_cast<uint32_t>(Folded(seeded, 0x8EBC6AF09C88C6E3ULL) >> 32)};
}

struct RibbonKernel {
  const char* name;
  // present[i] = 1 if hashes[i] is there, else 0.
  void (*may_contain)(const RibbonTable& table, const KeyHash* hashes, size_t count, uint8_t* present);
  // Solves a system that was brought into a form where the row of each slot starts with it, or is empty; writes the
  // shard's blocks. `rows` has one for each slot.
  void (*substitute)(const RibbonShard& shard, const RibbonRow* rows, uint32_t columns, uint64_t* blocks);
};

// Every kernel that this build has and this processor can run, the best first; the last is the portable one.
std::span<const RibbonKernel* const> RibbonKernels();
inline const RibbonKernel& BestRibbonKernel() { return *RibbonKernels().front(); }

// Starts loading the blocks of an item's window.
BITSIEVE_ALWAYS_INLINE void PrefetchWindow(const RibbonTable& table, const KeyHash& hash) {
  const uint64_t key = RibbonKey(hash);
  const RibbonShard shard = ReadShard(table.words + 2 * MultiplyHigh(key, table.shards));
  const uint64_t block = StartOf(SeededKey(key, shard.seed), shard.starts()) / kRibbonBlockSlots;
  const uint64_t* const first = table.words + shard.offset + shard.WordsBefore(block, table.columns);
  for (uint32_t word = 0; word < 3 * table.columns + 8; word += 8) __builtin_prefetch(first + word);
}

}  // namespace bitsieve::core
