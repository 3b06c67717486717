// ribbon_solver.h: finds a seed and a solution for one shard of a ribbon filter.
//
// Idea        Dillinger, Walzer, "Ribbon filter: practically smaller than Bloom and xor", 2021: the standard ribbon. An
//             item's 128 coefficients start at a random slot. Its row is put there; if that slot is taken, the row
//             there is added to it, its leading coefficients vanish, and it moves to where its first one left is. All
//             columns are then solved from the last slot to the first.
// Failure     a row of which nothing is left has no place. If its result is 0 as well it adds nothing new (an item that
//             was there twice); otherwise the shard is tried again under the next seed, of which there are 256.
// Overhead    SlotsFor has room for a seed to work with a chance above one half at any size, so that hardly more than
//             two are tried, and all 256 fail never.
// Unique      of all solutions the one is taken whose free slots are 0. It depends only on the set of keys, not on
//             their order: equal sets give equal bytes.
// Cost        measured, per item: 60 to 100 ns to band, 10 to 60 to solve (kernel and columns).
//
// Thread-compatible. Keeps its memory from shard to shard.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/families/ribbon/ribbon_kernel.h"

namespace bitsieve::core {

class RibbonSolver {
 public:
  static constexpr uint32_t kSeeds = 256;

  // Returns the slots of a shard of `keys` keys: 3% more than keys, and for few keys what the width of the window
  // needs.
  static uint32_t SlotsFor(uint64_t keys);

  // Returns the bytes that a solver takes for shards of `slots` slots.
  static uint64_t MemoryBytes(uint64_t slots) { return slots * sizeof(RibbonRow); }

  // Returns the first seed under which the keys can be banded into `slots` slots; nothing if there is none.
  std::optional<uint32_t> Band(std::span<const uint64_t> keys, uint32_t slots);
  // Solves what was banded last: writes the blocks of the shard.
  void Solve(const RibbonShard& shard, uint32_t columns, uint64_t* blocks) const;

 private:
  bool BandUnder(std::span<const uint64_t> keys, uint32_t slots, uint32_t seed);
  bool Insert(RibbonRow row, uint32_t start);

  std::vector<RibbonRow> rows_;  // of each slot
};

}  // namespace bitsieve::core
