// expiring_table.h: a cuckoo filter of fixed size in which each fingerprint has a time, as one of a chain of them. The
// chain is ExpiringFilter.
//
// Idea        a cuckoo table (cuckoo_table.h) whose slots hold an epoch (epochs.h) besides the fingerprint. A slot
//             whose epoch is over is a free slot: lookups ignore it and inserts reuse it, so that expiring takes no
//             work.
// Layout      slots of f + e bits in buckets of b, packed as in a cuckoo table: the fingerprint in the lower f bits,
//             the number of the epoch in the upper e. A slot of 0 is empty. From the next whole word on, a tag of 64
//             bits per segment, which is kSegmentBuckets buckets; all up to a whole line. All persists.
//
//               | bucket 0 | bucket 1 | ...                | spare word | tag 0 | tag 1 | ... | clear |
//
// Segments    a number of e bits says which epoch it is only relative to a moment: the tag of its segment is an epoch
//             that is not after any that was written there since, and no slot had an earlier one then. So the epoch of
//             a slot is the first one from the tag on that has its number. Before an epoch is written for which that
//             would no longer be true, the segment is swept: slots whose epoch is over are emptied, and the tag becomes
//             the current epoch. A sweep is 8192 slots, some 10 us. So that few sweeps have to be made at once, each
//             change also sweeps a few of the segments to which it writes when they are due: with 4 bits in each epoch,
//             so that lookups need not look at epochs in the segments that are in use, with 8 bits in every fifth one.
//             Nothing runs in the background, and a filter that is not used takes no time.
// Counts      live items by epoch. When an epoch is over, its count is, too.
// Cost        (f + e) (1 + 1/k) / 0.95 bits per item, and 64 bits per 8192 slots.
// Threads     one writer at a time; FindLive may run concurrently with it, as MoveVersion describes. A sweep does not
//             count as a move, since it changes only what lookups ignore: it empties slots before it writes the tag,
//             and what depends on the tag is written after it; a lookup reads the tag before and after the slot.
// Persisted   type 10; docs/formats/filter.md.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/families/cuckoo/cuckoo_geometry.h"
#include "core/families/expiring/epochs.h"
#include "core/filter/chain.h"
#include "core/memory/bit_memory.h"
#include "core/memory/move_version.h"
#include "core/memory/packed_buckets.h"

namespace bitsieve::core {

class ExpiringTable : public ChainMember<ExpiringTable> {
 public:
  static constexpr uint32_t kBucketSize = 4;
  static constexpr uint32_t kMaxIterations = 2000;  // buckets that an insert looks at
  static constexpr uint64_t kSegmentBuckets = 2048;
  static constexpr uint32_t kSweepsPerChange = 4;

  // Where the live fingerprint of an item lies.
  struct Place {
    uint64_t bucket = 0;
    uint32_t slot = PackedBuckets::kNone;
    uint64_t epoch = 0;

    bool found() const { return slot != PackedBuckets::kNone; }
  };

  // Makes an empty table; kOutOfMemory if the budget refuses. `older` is the one before in the chain, which outlives
  // this one, or null. The capacity of the shape is the number of live items, without those whose time is over and
  // whose epoch is not.
  static Result<std::unique_ptr<ExpiringTable>> Make(const CuckooShape& shape, const Epochs& epochs,
                                                     const ExpiringTable* older, MemoryBudget& budget);
  static uint64_t SizeBytes(const CuckooShape& shape, const Epochs& epochs);
  // Returns where the tags begin, and how many there are.
  static uint64_t TagsOffset(const CuckooShape& shape, const Epochs& epochs) {
    return PackedSlots::BytesFor(shape.Slots(), shape.fingerprint_bits + epochs.number_bits());
  }
  static uint64_t Segments(const CuckooShape& shape) { return (shape.buckets + kSegmentBuckets - 1) / kSegmentBuckets; }
  // Returns what the table takes besides its contents.
  static uint64_t OverheadBytes(const Epochs& epochs) {
    return sizeof(ExpiringTable) + epochs.numbers() * sizeof(uint64_t) + 64;
  }
  ExpiringTable(const ExpiringTable&) = delete;
  ExpiringTable& operator=(const ExpiringTable&) = delete;

  const CuckooGeometry& geometry() const { return geometry_; }
  const CuckooShape& shape() const { return geometry_.shape(); }
  const BitMemory& memory() const { return memory_; }
  BitMemory& memory() { return memory_; }

  uint64_t capacity() const { return shape().capacity; }
  uint64_t size_bytes() const { return memory_.size_bytes(); }

  void Prefetch(const CuckooPair& pair) const {
    __builtin_prefetch(slots_.AddressOf(pair.bucket));
    __builtin_prefetch(slots_.AddressOf(pair.partner));
  }
  // Finds the item's fingerprint of which the epoch is not over at epoch `now`.
  Place FindLive(const CuckooPair& pair, uint64_t fingerprint, uint64_t now) const {
    return slots_.Contain(pair.bucket, pair.partner, fingerprint) ? FindLiveIn(pair, fingerprint, now) : Place{};
  }
  // Returns whether there is one. In a segment that was swept in this epoch, no slot's epoch is over.
  bool HoldsLive(const CuckooPair& pair, uint64_t fingerprint, uint64_t now) const {
    const bool is_swept = std::min(TagOf(pair.bucket), TagOf(pair.partner)) >= now;
    if (!slots_.Contain(pair.bucket, pair.partner, fingerprint)) return false;
    return is_swept || FindLiveIn(pair, fingerprint, now).found();
  }

  // The rest is the writer's. Its epoch is that of the latest call to Advance.

  // Begins a change in epoch `now`, which is not before that of any earlier call. Changes nothing that persists.
  void Advance(uint64_t now);
  // Returns the number of items whose epoch is not over.
  uint64_t live() const { return live_; }
  // Returns the number of items whose epoch is this one, which is not before that of the latest change.
  uint64_t LiveIn(uint64_t epoch) const {
    return epoch > changed_ + epochs_.per_ttl() ? 0 : counts_[epochs_.NumberOf(epoch)];
  }
  // Returns the number of items whose epoch is this one or a later one.
  uint64_t LiveFrom(uint64_t epoch) const;
  bool HasRoom() const { return live_ < max_live_; }
  // Returns the chance that an absent item is found while so many items are live.
  double RateWith(uint64_t live) const;

  // Stores a fingerprint that is not there until the epoch is over, which is at most Epochs::per_ttl() after the
  // current one. Returns false if none of the kMaxIterations buckets nearest to the pair has a free slot. Throws
  // std::bad_alloc if the search for one is refused memory. In both cases nothing has changed that lookups could see.
  bool Insert(const CuckooPair& pair, uint64_t fingerprint, uint64_t epoch, MoveVersion& version);
  // Keeps what FindLive found until this epoch is over, which is a later one.
  void Renew(const Place& place, uint64_t epoch, MoveVersion& version);
  // Removes what FindLive found.
  void Remove(const Place& place, MoveVersion& version);

  // The functions that a search calls (cuckoo_search.h).
  uint32_t FreeSlot(uint64_t bucket) const;
  uint64_t FingerprintAt(uint64_t bucket, uint32_t slot) const { return slots_.Get(bucket, slot) & fingerprint_mask_; }
  const void* AddressOf(uint64_t bucket) const { return slots_.AddressOf(bucket); }

  // Takes over what the memory holds, for a table read back from bytes, before any other thread sees it, and advances
  // to `now`. kCorrupt if no table is as it is.
  Status Restore(uint64_t now);

 private:
  ExpiringTable(const CuckooShape& shape, const Epochs& epochs, const ExpiringTable* older, BitMemory memory);

  uint64_t* tag(uint64_t bucket) const {
    return reinterpret_cast<uint64_t*>(memory_.data() + tags_offset_) + bucket / kSegmentBuckets;
  }
  uint64_t TagOf(uint64_t bucket) const { return __atomic_load_n(tag(bucket), __ATOMIC_ACQUIRE); }
  uint64_t NumberIn(uint64_t slot) const { return slot >> shape().fingerprint_bits; }
  uint64_t SlotWith(uint64_t fingerprint, uint64_t epoch) const {
    return fingerprint | epochs_.NumberOf(epoch) << shape().fingerprint_bits;
  }

  // Returns the slot if it has the fingerprint, and its epoch is not over. It may be reused, and its segment swept,
  // while a lookup looks at it: the tag is the same before and after the slot was read only if it belongs to what was
  // read.
  Place LiveAt(uint64_t bucket, uint32_t slot, uint64_t fingerprint, uint64_t now) const {
    while (true) {
      const uint64_t tag = TagOf(bucket);
      const uint64_t value = slots_.Get(bucket, slot);
      const uint64_t epoch = epochs_.Since(tag, NumberIn(value));
      if ((value & fingerprint_mask_) != fingerprint) return {};
      if (TagOf(bucket) == tag) return epoch >= now ? Place{bucket, slot, epoch} : Place{};
    }
  }
  // Does the same for the slots of both buckets.
  Place FindLiveIn(const CuckooPair& pair, uint64_t fingerprint, uint64_t now) const;
  // Sweeps the bucket's segment if that must be done, or is due.
  void PrepareSegment(uint64_t bucket);
  void Sweep(uint64_t segment);
  // Returns whether a slot of the bucket may have one of the epochs from `first` to before the current one.
  bool MayHoldOver(uint64_t bucket, uint64_t first) const;
  void Put(uint64_t bucket, uint32_t slot, uint64_t value);
  void Count(uint64_t epoch, int64_t more);

  // Constant after construction, except for the bits themselves.
  const CuckooGeometry geometry_;
  const Epochs epochs_;
  const uint64_t max_live_;  // with the items whose time is over and whose epoch is not
  const uint64_t fingerprint_mask_;
  const uint64_t tags_offset_;  // bytes
  BitMemory memory_;
  PackedBuckets slots_;    // by fingerprint
  PackedBuckets numbers_;  // the same slots by the number of their epoch

  // Only the writer uses these.
  uint64_t now_ = 0;      // epoch
  uint64_t changed_ = 0;  // the epoch of the latest change: counts of epochs before it are cleared
  uint64_t live_ = 0;
  uint32_t sweeps_left_ = 0;            // that this change may make besides those that it must make
  std::unique_ptr<uint64_t[]> counts_;  // live items by the number of their epoch
};

}  // namespace bitsieve::core
