// cuckoo_table.h: a cuckoo filter of fixed size, as one of a chain of them. The chain is CuckooFilter.
//
// Idea        an item is known by its fingerprint, f bits of its hash, which lies in one of two buckets. The second
//             bucket follows only from the first and the fingerprint, so that a fingerprint can be moved without
//             knowing the item, to make room for another (Fan, Andersen, Kaminsky, Mitzenmacher, 2014).
// Layout      n buckets of b slots of f bits, packed without gaps: slot s of bucket i is bits (i b + s) f to
//             (i b + s) f + f - 1 of the memory, bit x of it in byte x / 8 under the mask 1 << (x % 8); a spare word
//             and the rest of its line stay clear. A slot of 0 is empty. All persists.
//
//               bucket 0             bucket 1             ...
//               | s0 | s1 | s2 | s3 | s0 | s1 | s2 | s3 | ...      f bits each
//
// Hashing     where an item may lie, and why tables of a chain are nested: cuckoo_geometry.h.
// Inserting   into a free slot of the two buckets; else the nearest free slot is searched for, breadth first: the
//             buckets that the fingerprints here could move to, those that the fingerprints there could, and so on.
//             Nothing moves until a way is found. So an insert that fails leaves the table exactly as it was, a way is
//             as short as can be (about 5 moves at most with 2000 buckets looked at), and equal tables stay equal.
// Cost        f / load bits per item, f = log2(2 b load / p) rounded up; two cache lines per lookup, for present and
//             absent items alike.
// Limits      at most 2 b equal fingerprints of one pair. f <= 32.
// Threads     one writer at a time; Contains and Count may run concurrently with it, as MoveVersion describes.
// Persisted   type 4; docs/formats/filter.md.
// References  Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", 2014;
//             Li, Andersen, Kaminsky, Freedman, "Algorithmic Improvements for Fast Concurrent Cuckoo Hashing", 2014,
//             for the search.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/families/cuckoo/cuckoo_geometry.h"
#include "core/filter/chain.h"
#include "core/hash/key_hash.h"
#include "core/memory/bit_memory.h"
#include "core/memory/move_version.h"
#include "core/memory/packed_buckets.h"

namespace bitsieve::core {

class CuckooTable : public ChainMember<CuckooTable> {
 public:
  // Makes an empty table; kOutOfMemory if the budget refuses. `older` is the one before in the chain, which outlives
  // this one, or null.
  static Result<std::unique_ptr<CuckooTable>> Make(const CuckooShape& shape, const CuckooTable* older,
                                                   MemoryBudget& budget);
  // Makes a table of memory that holds `items` fingerprints; `older` as in Make.
  static std::unique_ptr<CuckooTable> Of(const CuckooShape& shape, const CuckooTable* older, BitMemory memory,
                                         uint64_t items);
  CuckooTable(const CuckooTable&) = delete;
  CuckooTable& operator=(const CuckooTable&) = delete;

  const CuckooShape& shape() const { return geometry_.shape(); }
  const BitMemory& memory() const { return memory_; }
  BitMemory& memory() { return memory_; }

  uint64_t capacity() const { return shape().capacity; }
  uint64_t size_bytes() const { return shape().SizeBytes(); }
  // Fingerprints that are there.
  uint64_t items() const { return items_.load(std::memory_order_relaxed); }
  bool HasRoom() const { return items() < shape().capacity; }
  double EstimatedRate() const;

  const CuckooGeometry& geometry() const { return geometry_; }
  CuckooKey KeyOf(const KeyHash& hash) const { return geometry_.KeyOf(hash); }
  CuckooPair Refine(const CuckooPair& older, const CuckooKey& key) const { return geometry_.Refine(older, key); }
  uint64_t FingerprintOf(const CuckooKey& key) const { return geometry_.FingerprintOf(key); }

  void Prefetch(const CuckooPair& pair) const {
    __builtin_prefetch(slots_.AddressOf(pair.bucket));
    __builtin_prefetch(slots_.AddressOf(pair.partner));
  }
  bool Contains(const CuckooPair& pair, uint64_t fingerprint) const {
    return slots_.Contain(pair.bucket, pair.partner, fingerprint);
  }
  uint32_t Count(const CuckooPair& pair, uint64_t fingerprint) const;
  // Returns whether the buckets hold nothing but this fingerprint: then no moves can make room for it.
  bool IsSaturated(const CuckooPair& pair, uint64_t fingerprint) const;

  // Returns false if none of the `max_iterations` buckets nearest to the pair has a free slot. Throws std::bad_alloc if
  // the search for one is refused memory. In both cases nothing has changed.
  bool Insert(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations, MoveVersion& version);
  // Removes one such fingerprint; returns false if there is none.
  bool Remove(const CuckooPair& pair, uint64_t fingerprint, MoveVersion& version);

  // The functions that a search calls (cuckoo_search.h).
  uint32_t FreeSlot(uint64_t bucket) const { return slots_.Find(bucket, 0); }
  uint64_t FingerprintAt(uint64_t bucket, uint32_t slot) const { return slots_.Get(bucket, slot); }
  const void* AddressOf(uint64_t bucket) const { return slots_.AddressOf(bucket); }

  // Counts what the memory holds, for a table read back from bytes, before any other thread sees it.
  void Recount();

 private:
  CuckooTable(const CuckooShape& shape, const CuckooTable* older, BitMemory memory);

  bool InsertByMoving(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations, MoveVersion& version);
  void Put(uint64_t bucket, uint32_t slot, uint64_t fingerprint);
  void CountItems(int64_t more) { items_.store(items() + static_cast<uint64_t>(more), std::memory_order_relaxed); }

  // Constant after construction, except for the bits themselves.
  const CuckooGeometry geometry_;
  BitMemory memory_;
  PackedBuckets slots_;

  std::atomic<uint64_t> items_{0};  // written only by the writer; relaxed: only ever reported
};

}  // namespace bitsieve::core
