// hash_table.h: remembers items by their hashes of 128 bits, without error for all practical purposes: among 10^12
// items the chance that any two have the same hash is 1.5e-15.
//
// Layout      slots of 16 bytes, with linear probing from the slot that the low half of the hash chooses by
//             multiply-shift. A hash of zeros marks an empty slot.
// Cost        20 bytes per item when full (4 of 5 slots are used); then the table grows by half.
// Threads     thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cli/dedup/seen_partition.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::cli {

class HashTable final : public SeenPartition {
 public:
  // Returns a table with room for this many items. kOutOfMemory if the budget, which outlives the table, refuses.
  static core::Result<std::unique_ptr<HashTable>> Make(uint64_t items, core::MemoryBudget& budget);
  // Returns the memory of such a table.
  static uint64_t BytesFor(uint64_t items);

  core::Outcome<void, core::AddOutcome> Add(std::span<const core::KeyHash> hashes,
                                            std::span<core::AddOutcome> outcomes) override;
  uint64_t items() const override { return items_; }
  uint64_t size_bytes() const override { return memory_.size_bytes(); }
  std::optional<double> ErrorRate() const override { return 0; }
  bool has_grown() const override { return has_grown_; }

  uint64_t encoded_bytes() const override { return items_ * sizeof(core::KeyHash); }
  // Writes the hashes, each low half first, in the order of the slots.
  core::Status Encode(const Write& write) const override;

 private:
  HashTable(core::BitMemory memory, core::MemoryBudget& budget);
  std::span<core::KeyHash> slots() const;
  // Returns whether the hash was new.
  bool AddOne(core::KeyHash hash);
  bool Grow();

  core::MemoryBudget& budget_;
  core::BitMemory memory_;
  uint64_t items_ = 0;
  uint64_t room_;  // items that it takes before it grows
  bool has_grown_ = false;
};

}  // namespace bitsieve::cli
