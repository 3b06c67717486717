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
// Hashing     the low half of the hash places the item, by multiply-shift into n buckets, so n need not be a power of
//             two; the upper f bits of the high half are the fingerprint, but that 0 becomes 1.
// Partner     the two buckets add up to a number that the fingerprint gives: with n buckets, partner = (sum - bucket)
//             mod n, which is its own inverse. In a chain, they do so digit by digit, for the sake of nesting.
// Nesting     each table of a chain has m times the buckets of the one before, m an integer, and fingerprints that are
//             as wide or wider. Then *two items that a table cannot distinguish, no older table can distinguish*, on
//             which CuckooFilter's removals rest. Proof, for a table and the one before it:
//             - fingerprints: the older one is the upper bits of the newer one, and 0 becomes 1 in both. (A newer 1,
//               whether it was 0 or 1, has only zeros for upper bits, so that the older is 1 either way. With equal
//               widths they are equal.)
//             - buckets: floor(floor(x n m) / m) = floor(x n), so multiply-shift puts an item of the bucket m q + r,
//               0 <= r < m, into the bucket q of the older table. The sum is scaled alike, from a hash of the upper
//               bits that the *oldest* table's fingerprint has: it is m S + s where S is the older table's.
//             - partners: that of m q + r is m Q + ((s - r) mod m), Q being the partner of q. So dividing by m takes
//               a pair of buckets to the older table's pair, whichever of the two it started from.
//             Two items with equal fingerprints and the same pair therefore have equal fingerprints and the same pair
//             in the older table. By digits, and not with one subtraction of m S + (m - 1), since then the partners in
//             a large table would be as few as the buckets of the oldest one, and it would fill as badly.
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

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "core/filter/chain.h"
#include "core/hash/key_hash.h"
#include "core/memory/bit_memory.h"
#include "core/memory/move_version.h"
#include "core/memory/packed_buckets.h"

namespace bitsieve::core {

// All that determines where a table's fingerprints lie. Persisted, so that later versions may size otherwise.
struct CuckooShape {
  uint64_t capacity;          // items
  double error_rate;          // of this table by itself, when full
  uint64_t buckets;           // n; a multiple of the older table's
  uint32_t bucket_size;       // b, the same in all tables of a chain
  uint32_t fingerprint_bits;  // f; at least the older table's

  uint64_t Slots() const { return buckets * bucket_size; }
  uint64_t SizeBytes() const {
    return (PackedSlots::BytesFor(Slots(), fingerprint_bits) + kLineBytes - 1) / kLineBytes * kLineBytes;
  }
};

// The parts of an item's hash that all tables of a chain use: fractions of 2^64.
struct CuckooKey {
  uint64_t place;               // scaled by the buckets of a table: the item's first bucket
  uint64_t sum;                 // scaled alike: the sum of its two buckets, digit by digit
  uint64_t fingerprint_source;  // its upper bits are the fingerprint
};

// The buckets where an item may lie in a table. The default is that of an imaginary table of one bucket before the
// oldest one, in which all items are alike.
struct CuckooPair {
  uint64_t bucket = 0;
  uint64_t partner = 0;
  uint64_t sum = 0;
};

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

  const CuckooShape& shape() const { return shape_; }
  const BitMemory& memory() const { return memory_; }
  BitMemory& memory() { return memory_; }

  uint64_t capacity() const { return shape_.capacity; }
  uint64_t size_bytes() const { return shape_.SizeBytes(); }
  // Fingerprints that are there.
  uint64_t items() const { return items_.load(std::memory_order_relaxed); }
  bool HasRoom() const { return items() < shape_.capacity; }
  double EstimatedRate() const;

  // The same for all tables of a chain.
  CuckooKey KeyOf(const KeyHash& hash) const {
    return {hash.low, SumOf(Fingerprint(hash.high, first_bits_)), hash.high};
  }
  // Returns the item's buckets here; `older` are those in the older table.
  CuckooPair Refine(const CuckooPair& older, const CuckooKey& key) const {
    const uint64_t bucket = MultiplyHigh(key.place, shape_.buckets);
    const uint64_t sum = MultiplyHigh(key.sum, shape_.buckets);
    const uint64_t partner_digit = Subtract(sum - multiple_ * older.sum, bucket - multiple_ * older.bucket, multiple_);
    return {bucket, multiple_ * older.partner + partner_digit, sum};
  }
  uint64_t FingerprintOf(const CuckooKey& key) const {
    return Fingerprint(key.fingerprint_source, shape_.fingerprint_bits);
  }
  // Returns the other bucket of a fingerprint that lies in this one.
  uint64_t PartnerOf(uint64_t bucket, uint64_t fingerprint) const;

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

  // Returns false if none of the `max_iterations` buckets nearest to the pair has a free slot; then nothing has
  // changed.
  bool Insert(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations, MoveVersion& version);
  // Removes one such fingerprint; returns false if there is none.
  bool Remove(const CuckooPair& pair, uint64_t fingerprint, MoveVersion& version);

  // Counts what the memory holds, for a table read back from bytes, before any other thread sees it.
  void Recount();

 private:
  struct Step;
  class Steps;  // of a search

  CuckooTable(const CuckooShape& shape, const CuckooTable* older, BitMemory memory);

  static uint64_t Fingerprint(uint64_t source, uint32_t bits) { return std::max<uint64_t>(1, source >> (64 - bits)); }
  // Returns a hash of the oldest table's fingerprint (the finalizer of MurmurHash3).
  static uint64_t SumOf(uint64_t first_fingerprint) {
    uint64_t sum = first_fingerprint * 0xFF51AFD7ED558CCDULL;
    sum = (sum ^ sum >> 33) * 0xC4CEB9FE1A85EC53ULL;
    return sum ^ sum >> 33;
  }
  // Returns a - b modulo m; both are below m. It has no branch, since which is larger cannot be predicted.
  static uint64_t Subtract(uint64_t a, uint64_t b, uint64_t m) { return a - b + (m & (uint64_t{0} - uint64_t{a < b})); }

  bool InsertByMoving(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations, MoveVersion& version);
  bool SearchAndMove(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations, MoveVersion& version);
  void MoveAlong(const Step* steps, uint32_t last, uint32_t free_slot, uint64_t fingerprint);
  void Put(uint64_t bucket, uint32_t slot, uint64_t fingerprint);
  void CountItems(int64_t more) { items_.store(items() + static_cast<uint64_t>(more), std::memory_order_relaxed); }

  // Constant after construction, except for the bits themselves.
  const CuckooShape shape_;
  const uint64_t multiple_;    // buckets over those of the older table
  const uint32_t first_bits_;  // of a fingerprint in the oldest table
  BitMemory memory_;
  PackedBuckets slots_;

  std::atomic<uint64_t> items_{0};  // written only by the writer; relaxed: only ever reported
};

}  // namespace bitsieve::core
