// cuckoo_sizing.h: the arithmetic of cuckoo tables: how full they get, how wide a fingerprint a rate needs, and what
// follows from a fill. Pure functions of numbers. b slots per bucket, f bits per fingerprint. Thread-safe.
#pragma once

#include <cstdint>

#include "core/families/cuckoo/cuckoo_type.h"

namespace bitsieve::core {

inline constexpr uint32_t kMinFingerprintBits = 6;  // below, large tables do not reach their load
inline constexpr uint32_t kMaxFingerprintBits = 32;
inline constexpr uint64_t kMaxCuckooSlots = uint64_t{1} << 48;  // beyond any memory, and no product of it overflows

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

}  // namespace bitsieve::core
