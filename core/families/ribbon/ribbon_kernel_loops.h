// ribbon_kernel_loops.h: the loops of a ribbon kernel, for any instruction set. Included by the sources
// ribbon_kernel_*.cc alone; all is in an anonymous namespace, since each includes it with its own compiler flags.
//
// An `Eight` handles eight columns together and offers what OneByOne offers.
#pragma once

#include "core/families/ribbon/ribbon_kernel.h"

namespace bitsieve::core {
namespace {

constexpr uint32_t kVector = 8;  // columns handled together

BITSIEVE_ALWAYS_INLINE uint32_t Parity(uint64_t word) {
#if defined(__POPCNT__)
  return static_cast<uint32_t>(__builtin_popcountll(word)) & 1;
#else
  return static_cast<uint32_t>(__builtin_parityll(word));
#endif
}

// A window's coefficients, moved to where they lie in three blocks.
struct RibbonMasks {
  uint64_t word[3];
  BITSIEVE_ALWAYS_INLINE RibbonMasks(const RibbonRow& row, uint32_t shift)
      : word{row.low << shift, row.high << shift | row.low >> 1 >> (63 - shift), row.high >> 1 >> (63 - shift)} {}
};

// The first 128 of the slots that are solved, of each column.
struct SolvedWindow {
  static constexpr uint32_t kColumns = (kMaxRibbonColumns + kVector - 1) / kVector * kVector;
  alignas(64) uint64_t low[kColumns] = {};
  alignas(64) uint64_t high[kColumns] = {};
};

struct OneByOne {
  // Bit i: the parity of column i under the masks. `blocks` are at the first of the columns.
  BITSIEVE_ALWAYS_INLINE static uint32_t Parities(const uint64_t* const blocks[3], const RibbonMasks& masks) {
    uint32_t parities = 0;
    for (uint32_t i = 0; i < kVector; ++i) {
      parities |=
          Parity((blocks[0][i] & masks.word[0]) ^ (blocks[1][i] & masks.word[1]) ^ (blocks[2][i] & masks.word[2])) << i;
    }
    return parities;
  }

  // Puts the slot of this row before the window, in columns from `first` on.
  BITSIEVE_ALWAYS_INLINE static void Solve(SolvedWindow& window, const RibbonRow& row, uint32_t first) {
    for (uint32_t c = first; c < first + kVector; ++c) {
      const uint64_t high = window.high[c] << 1 | window.low[c] >> 63;
      const uint64_t low = window.low[c] << 1;
      const uint32_t others = Parity((low & row.low) ^ (high & row.high));
      window.low[c] = low | ((others ^ row.result >> c) & 1);
      window.high[c] = high;
    }
  }
};

template <class Eight>
BITSIEVE_ALWAYS_INLINE bool Fits(const RibbonTable& table, const KeyHash& hash) {
  const uint64_t key = RibbonKey(hash);
  const RibbonShard shard = ReadShard(table.words + 2 * MultiplyHigh(key, table.shards));
  const uint64_t seeded = SeededKey(key, shard.seed);
  const uint32_t start = StartOf(seeded, shard.starts());
  const RibbonRow row = RowOf(seeded);
  const RibbonMasks masks(row, start % kRibbonBlockSlots);
  const uint64_t block = start / kRibbonBlockSlots;
  const uint64_t* const base = table.words + shard.offset;
  const uint64_t* const blocks[3] = {base + shard.WordsBefore(block, table.columns),
                                     base + shard.WordsBefore(block + 1, table.columns),
                                     base + shard.WordsBefore(block + 2, table.columns)};
  const uint32_t columns = table.columns + (start >= shard.split ? 1 : 0);
  for (uint32_t first = 0; first < columns; first += kVector) {
    const uint32_t asked = columns - first >= kVector ? 0xFF : (1U << (columns - first)) - 1;
    // Columns after the last one are read, too, and ignored.
    const uint64_t* const eight[3] = {blocks[0] + first, blocks[1] + first, blocks[2] + first};
    if (((Eight::Parities(eight, masks) ^ row.result >> first) & asked) != 0) return false;
  }
  return true;
}

template <class Eight>
void MayContainLoop(const RibbonTable& table, const KeyHash* hashes, size_t count, uint8_t* present) {
  for (size_t i = 0; i < count; ++i) present[i] = Fits<Eight>(table, hashes[i]) ? 1 : 0;
}

template <class Eight>
void SubstituteLoop(const RibbonShard& shard, const RibbonRow* rows, uint32_t columns, uint64_t* blocks) {
  SolvedWindow window;
  for (uint32_t slot = shard.slots; slot-- > 0;) {
    for (uint32_t first = 0; first <= columns; first += kVector) Eight::Solve(window, rows[slot], first);
    if (slot % kRibbonBlockSlots != 0) continue;
    const uint32_t block = slot / kRibbonBlockSlots;
    uint64_t* const out = blocks + shard.WordsBefore(block, columns);
    const uint32_t stored = columns + (block >= shard.split_block() ? 1 : 0);
    for (uint32_t c = 0; c < stored; ++c) out[c] = window.low[c];
  }
}

}  // namespace
}  // namespace bitsieve::core
