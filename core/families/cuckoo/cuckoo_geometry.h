// cuckoo_geometry.h: where the fingerprint of an item lies in the tables of a chain of cuckoo filters. The tables
// themselves are CuckooTable and ExpiringTable.
//
// Hashing     the low half of the hash places the item, by multiply-shift into n buckets, so n need not be a power of
//             two; the upper f bits of the high half are the fingerprint, but that 0 becomes 1.
// Partner     the two buckets add up to a number that the fingerprint gives: with n buckets, partner = (sum - bucket)
//             mod n, which is its own inverse. In a chain, they do so digit by digit, for the sake of nesting.
// Nesting     each table of a chain has m times the buckets of the one before, m an integer, and fingerprints that are
//             as wide or wider. Then *two items that a table cannot distinguish, no older table can distinguish*, on
//             which removals rest (cuckoo_filter.h). Proof, for a table and the one before it:
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
// Threads     thread-safe: constant after construction.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/families/cuckoo/cuckoo_sizing.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

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

class CuckooGeometry {
 public:
  // `older` is that of the table before in the chain, which outlives this one, or null.
  CuckooGeometry(const CuckooShape& shape, const CuckooGeometry* older);

  const CuckooShape& shape() const { return shape_; }

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

 private:
  static uint64_t Fingerprint(uint64_t source, uint32_t bits) { return std::max<uint64_t>(1, source >> (64 - bits)); }
  // Returns a hash of the oldest table's fingerprint (the finalizer of MurmurHash3).
  static uint64_t SumOf(uint64_t first_fingerprint) {
    uint64_t sum = first_fingerprint * 0xFF51AFD7ED558CCDULL;
    sum = (sum ^ sum >> 33) * 0xC4CEB9FE1A85EC53ULL;
    return sum ^ sum >> 33;
  }
  // Returns a - b modulo m; both are below m. It has no branch, since which is larger cannot be predicted.
  static uint64_t Subtract(uint64_t a, uint64_t b, uint64_t m) { return a - b + (m & (uint64_t{0} - uint64_t{a < b})); }

  const CuckooShape shape_;
  const CuckooGeometry* const older_;
  const uint64_t multiple_;    // buckets over those of the older table
  const uint32_t first_bits_;  // of a fingerprint in the oldest table
};

// Returns the item's buckets in `table` of the chain whose oldest table is `oldest`.
template <class Table>
CuckooPair PairIn(const Table& oldest, const Table& table, const CuckooKey& key) {
  CuckooPair pair = oldest.geometry().Refine({}, key);
  for (const Table* at = &oldest; at != &table;) {
    at = at->newer();
    pair = at->geometry().Refine(pair, key);
  }
  return pair;
}

}  // namespace bitsieve::core
