// fingerprint_table.h: an open-addressing table of fingerprints, of fixed size, as one of a chain of them. The chain is
// FingerprintFilter.
//
// Idea        half of an item's hash chooses a slot, its home; of the other half, r bits are its fingerprint, which is
//             stored there or in the next free slot. Probing is *ordered* (Amble, Knuth): on its way a fingerprint
//             takes the slot of a smaller one, which then continues in its place. So from each item's home on to its
//             own fingerprint there are only larger ones, and a lookup stops at the first slot that is smaller, or
//             empty. Absent items are detected sooner than in an unordered table, and compared with fewer fingerprints:
//             the error rate is lower by half and more (fingerprint_sizing.h).
// Layout      n slots of r bits, packed without gaps: slot i is bits i r to i r + r - 1 of the memory, bit x of it in
//             byte x / 8 under the mask 1 << (x % 8); a spare word and the rest of its line stay clear. A slot of 0 is
//             empty. Probing continues from the last slot to the first. All persists.
//
//               home of x ->  | 901 | 877 | 340 |  0  |    877 is found in the second slot; 500 is not there, which the
//                                                          third slot shows; 200 would go into the fourth
// Hashing     home: the low half, by multiply-shift onto n. Fingerprint: the high half, by multiply-shift onto 2^r - 1,
//             plus 1: so all are equally likely and none is 0.
// Equal ones  an item that meets its own fingerprint is taken for present. A displaced fingerprint that meets an equal
//             one is dropped: every lookup for it passes there, too. So fewer slots may be taken than items were added.
// Ends        every walk ends: fewer slots are taken than there are, and an empty one ends any; in foreign memory that
//             was not counted a lookup ends after the last slot. With a load of 0.8 an
//             add walks 13 slots on average, a lookup 5, whether the item is there or not; all in one cache line or
//             two.
// Threads     one writer at a time; Contains may run concurrently with it, as MoveVersion describes.
// Persisted   type 8; docs/formats/filter.md.
// References  Amble, Knuth, "Ordered Hash Tables", 1974; Cleary, "Compact Hash Tables Using Bidirectional Linear
//             Probing", 1984, for keeping a part of the hash instead of the item.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/filter/chain.h"
#include "core/hash/key_hash.h"
#include "core/memory/bit_memory.h"
#include "core/memory/packed_slots.h"

namespace bitsieve::core {

// All that determines where a table's fingerprints lie. Persisted, so that later versions may size otherwise.
struct FingerprintShape {
  uint64_t capacity;          // items
  double error_rate;          // of this table by itself, when full
  uint64_t slots;             // n, above the capacity
  uint32_t fingerprint_bits;  // r

  uint64_t SizeBytes() const {
    return (PackedSlots::BytesFor(slots, fingerprint_bits) + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
};

class FingerprintTable : public ChainMember<FingerprintTable> {
 public:
  // Makes an empty table; kOutOfMemory if the budget refuses.
  static Result<std::unique_ptr<FingerprintTable>> Make(const FingerprintShape& shape, MemoryBudget& budget);
  // Makes a table of memory that holds `items` items in `taken` slots; both numbers are trusted.
  static std::unique_ptr<FingerprintTable> Of(const FingerprintShape& shape, BitMemory memory, uint64_t items,
                                              uint64_t taken);
  FingerprintTable(const FingerprintTable&) = delete;
  FingerprintTable& operator=(const FingerprintTable&) = delete;

  const FingerprintShape& shape() const { return shape_; }
  BitMemory& memory() { return memory_; }
  uint64_t capacity() const { return shape_.capacity; }
  uint64_t size_bytes() const { return shape_.SizeBytes(); }

  uint64_t items() const { return items_.load(std::memory_order_relaxed); }  // that were added
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }  // slots
  bool HasRoom() const { return items() < shape_.capacity; }
  double Load() const { return static_cast<double>(taken()) / static_cast<double>(shape_.slots); }
  // Returns the error rate of a lookup now.
  double EstimatedRate() const;

  void Prefetch(const KeyHash& hash) const { __builtin_prefetch(slots_.AddressOf(HomeOf(hash))); }
  bool Contains(const KeyHash& hash) const;
  // Adds an item that the table does not contain. The table has room.
  void Insert(const KeyHash& hash);

  // For a table read back from bytes, before any other thread sees it: counts the slots that are taken.
  void Restore(uint64_t items);

 private:
  FingerprintTable(const FingerprintShape& shape, BitMemory memory)
      : shape_(shape), memory_(std::move(memory)), slots_(memory_.data(), shape.fingerprint_bits) {}

  uint64_t HomeOf(const KeyHash& hash) const { return MultiplyHigh(hash.low, shape_.slots); }
  uint64_t FingerprintOf(const KeyHash& hash) const {
    return 1 + MultiplyHigh(hash.high, (uint64_t{1} << shape_.fingerprint_bits) - 1);
  }
  uint64_t SlotAfter(uint64_t slot) const { return slot + 1 == shape_.slots ? 0 : slot + 1; }
  void Put(uint64_t slot, uint64_t fingerprint);

  // Constant after construction, except for the bits themselves.
  const FingerprintShape shape_;
  BitMemory memory_;
  PackedSlots slots_;

  // Written only by the writer; relaxed: only ever reported.
  std::atomic<uint64_t> items_{0};
  std::atomic<uint64_t> taken_{0};
};

}  // namespace bitsieve::core
