#include "core/families/fingerprint/fingerprint_table.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "core/families/fingerprint/fingerprint_sizing.h"

namespace bitsieve::core {

Result<std::unique_ptr<FingerprintTable>> FingerprintTable::Make(const FingerprintShape& shape, MemoryBudget& budget) {
  Result<BitMemory> memory = BitMemory::Allocate(shape.SizeBytes(), budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  return Of(shape, std::move(*memory), 0, 0);
}

std::unique_ptr<FingerprintTable> FingerprintTable::Of(const FingerprintShape& shape, BitMemory memory, uint64_t items,
                                                       uint64_t taken) {
  std::unique_ptr<FingerprintTable> table(new FingerprintTable(shape, std::move(memory)));
  table->items_.store(items, std::memory_order_relaxed);
  table->taken_.store(taken, std::memory_order_relaxed);
  return table;
}

// The formula holds for large tables of many fingerprints. In others it is counted how many fingerprints an absent item
// may have and be taken for known, by its home: those that no smaller or equal one precedes in the run from there on.
// All homes are alike, so the first are enough.
double FingerprintTable::EstimatedRate() const {
  constexpr uint64_t kEnoughHomes = 1 << 17;
  constexpr uint32_t kManyBits = 10;
  if (shape_.slots > kEnoughHomes && shape_.fingerprint_bits > kManyBits) {
    return FingerprintRate(shape_.fingerprint_bits, Load());
  }
  const uint64_t homes = std::min(shape_.slots, kEnoughHomes);
  uint64_t found = 0;
  for (uint64_t home = 0; home < homes; ++home) {
    uint64_t smallest = UINT64_MAX;
    uint64_t slot = home;
    for (uint64_t i = 0; i < shape_.slots; ++i, slot = SlotAfter(slot)) {
      const uint64_t fingerprint = slots_.Get(slot);
      if (fingerprint == 0) break;
      if (fingerprint < smallest) {
        smallest = fingerprint;
        ++found;
      }
    }
  }
  const double fingerprints = std::exp2(shape_.fingerprint_bits) - 1;
  return static_cast<double>(found) / static_cast<double>(homes) / fingerprints;
}

bool FingerprintTable::Contains(const KeyHash& hash) const {
  const uint64_t fingerprint = FingerprintOf(hash);
  const uint64_t in_a_run = 64 / shape_.fingerprint_bits;
  uint64_t slot = HomeOf(hash);
  // Compares as many slots at a time as a word holds, and the last slots, after which the first ones follow, one by
  // one.
  while (slot + in_a_run <= shape_.slots) {
    uint64_t run = slots_.Run(slot);
    for (uint64_t i = 0; i < in_a_run; ++i, run >>= shape_.fingerprint_bits) {
      const uint64_t there = run & slots_.mask();
      if (there <= fingerprint) return there == fingerprint;
    }
    slot += in_a_run;
  }
  slot %= shape_.slots;
  uint64_t there = slots_.Get(slot);
  for (uint64_t left = shape_.slots; there > fingerprint && left > 0; --left) {
    slot = SlotAfter(slot);
    there = slots_.Get(slot);
  }
  return there == fingerprint;
}

void FingerprintTable::Insert(const KeyHash& hash) {
  assert(HasRoom());
  uint64_t carried = FingerprintOf(hash);
  for (uint64_t slot = HomeOf(hash);; slot = SlotAfter(slot)) {
    const uint64_t there = slots_.Get(slot);
    if (there == carried) break;
    if (there > carried) continue;
    Put(slot, carried);
    if (there == 0) {
      taken_.store(taken() + 1, std::memory_order_relaxed);
      break;
    }
    carried = there;
  }
  items_.store(items() + 1, std::memory_order_relaxed);
}

// A slot may lie across two words, of different chunks of an image.
void FingerprintTable::Put(uint64_t slot, uint64_t fingerprint) {
  const uint64_t offset = slots_.ByteOf(slot);
  memory_.BeforeWrite(offset);
  memory_.BeforeWrite(offset + sizeof(uint64_t));
  slots_.Set(slot, fingerprint);
}

void FingerprintTable::Restore(uint64_t items) {
  uint64_t taken = 0;
  for (uint64_t slot = 0; slot < shape_.slots; ++slot) taken += slots_.Get(slot) != 0 ? 1 : 0;
  taken_.store(taken, std::memory_order_relaxed);
  items_.store(items, std::memory_order_relaxed);
}

}  // namespace bitsieve::core
