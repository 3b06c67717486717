#include "core/families/ribbon/ribbon_solver.h"

#include <algorithm>
#include <array>
#include <bit>

namespace bitsieve::core {

namespace {

// Keys in a window that holds all of them fit with a chance of 1 - 2^-(slots - keys).
constexpr uint64_t kSpareSlots = 10;

}  // namespace

uint32_t RibbonSolver::SlotsFor(uint64_t keys) {
  const uint64_t wanted = keys + keys * 3 / 100 + kSpareSlots;
  const uint64_t blocks = (wanted + kRibbonBlockSlots - 1) / kRibbonBlockSlots;
  return static_cast<uint32_t>(std::max<uint64_t>(kRibbonWidth, blocks * kRibbonBlockSlots));
}

std::optional<uint32_t> RibbonSolver::Band(std::span<const uint64_t> keys, uint32_t slots) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    if (BandUnder(keys, slots, seed)) return seed;
  }
  return std::nullopt;
}

bool RibbonSolver::BandUnder(std::span<const uint64_t> keys, uint32_t slots, uint32_t seed) {
  constexpr size_t kAhead = 16;  // rows made, and their places loaded, before the first of them is needed
  rows_.assign(slots, RibbonRow());
  const uint32_t starts = slots - kRibbonWidth + 1;
  std::array<uint64_t, kAhead> seeded;
  std::array<uint32_t, kAhead> start;
  for (size_t done = 0; done < keys.size(); done += kAhead) {
    const size_t count = std::min(kAhead, keys.size() - done);
    for (size_t i = 0; i < count; ++i) {
      seeded[i] = SeededKey(keys[done + i], seed);
      start[i] = StartOf(seeded[i], starts);
      __builtin_prefetch(&rows_[start[i]], 1);
    }
    for (size_t i = 0; i < count; ++i) {
      if (!Insert(RowOf(seeded[i]), start[i])) return false;
    }
  }
  return true;
}

bool RibbonSolver::Insert(RibbonRow row, uint32_t start) {
  for (RibbonRow* place = &rows_[start];;) {
    if (place->low == 0) {
      *place = row;
      return true;
    }
    row.low ^= place->low;
    row.high ^= place->high;
    row.result ^= place->result;
    // Both have bit 0, so something leads further on now, or nothing is left.
    if (row.low != 0) {
      const int skipped = std::countr_zero(row.low);
      row.low = row.low >> skipped | row.high << 1 << (63 - skipped);
      row.high >>= skipped;
      place += skipped;
    } else {
      if (row.high == 0) return row.result == 0;
      const int skipped = std::countr_zero(row.high);
      row.low = row.high >> skipped;
      row.high = 0;
      place += 64 + skipped;
    }
  }
}

void RibbonSolver::Solve(const RibbonShard& shard, uint32_t columns, uint64_t* blocks) const {
  BestRibbonKernel().substitute(shard, rows_.data(), columns, blocks);
}

}  // namespace bitsieve::core
