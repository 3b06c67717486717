// cuckoo_sizing.h: the arithmetic of cuckoo tables: how full they get, how wide a fingerprint a rate needs, and what
// follows from a fill. Pure functions of numbers. b slots per bucket, f bits per fingerprint. Thread-safe.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/memory/bit_memory.h"
#include "core/memory/packed_slots.h"

namespace bitsieve::core {

inline constexpr uint32_t kMinFingerprintBits = 6;  // below, large tables do not reach their load
inline constexpr uint32_t kMaxFingerprintBits = 32;
inline constexpr uint64_t kMaxCuckooSlots = uint64_t{1} << 48;  // beyond any memory, and no product of it overflows
// Each table has at least a quarter of the capacity of all those before it, so a table becomes too large before a chain
// has this many.
inline constexpr uint32_t kMaxCuckooTables = 256;

// The share of a large table's slots that it takes before inserting fails. kBucketSize allows b, here and below.
double CuckooLoad(uint32_t bucket_size);
// Items that so many buckets hold: CuckooLoad of the slots, less a slack that matters to small tables, whose buckets
// fill less evenly.
uint64_t CuckooCapacity(uint64_t buckets, uint32_t bucket_size);
// The fewest buckets that hold so many items. capacity <= kMaxCuckooSlots / 2.
uint64_t CuckooBuckets(uint64_t capacity, uint32_t bucket_size);

// The chance that an absent item is found at a load (0 to 1): two buckets, 2 b load fingerprints, each equal to its own
// with the chance (1 + 2^(1-f)) 2^-f, since 0 and 1 are the same fingerprint.
double CuckooRate(uint32_t fingerprint_bits, uint32_t bucket_size, double load);
// The fewest bits that keep `rate` in a table as full as it gets; more than kMaxFingerprintBits if none do.
uint32_t CuckooFingerprintBits(double rate, uint32_t bucket_size);
// The smallest rate that the widest fingerprint keeps.
double CuckooSmallestRate(uint32_t bucket_size);

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

// Returns the shape of the first table of a chain that holds `capacity` items. kInvalidArgument names the smallest
// error rate that a filter such as this can have.
Result<CuckooShape> FirstCuckooShape(const FilterParams& params, uint64_t capacity, uint32_t bucket_size);
// Returns the shape of the table after `last`, which is the newest of `tables` with `total_capacity` together.
// kInvalidArgument if its rate would be too small, kOutOfMemory if no memory could hold it.
Result<CuckooShape> NextCuckooShape(const FilterParams& params, const CuckooShape& last, uint32_t tables,
                                    uint64_t total_capacity);

}  // namespace bitsieve::core
