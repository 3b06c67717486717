#include "core/families/cuckoo/cuckoo_sizing.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "core/families/cuckoo/cuckoo_type.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

namespace {

// Measured with tables of 10^7 slots and 2000 buckets looked at: inserting first fails at a load of 0.5 to 2% more.
constexpr std::array kLoads{0.84, 0.92, 0.95, 0.96, 0.97, 0.97, 0.98};
// A smaller table sometimes fails far below its load, since more of its fingerprints have only one bucket.
uint64_t FewestSlots(uint32_t bucket_size) { return std::max(128U, 512 / bucket_size); }
// Small tables leave this many slots, divided by b, free in addition: then one in a million of them fails below its
// capacity.
constexpr uint64_t kSlackBuckets = 64;
static_assert(kLoads.size() == kBucketSize.max - kBucketSize.min + 1);

// The average number of fingerprints that a fingerprint meets in its two buckets, and the chance to be equal to one of
// them.
double Expected(uint32_t bucket_size, double load) { return 2.0 * bucket_size * load; }
double EqualChance(uint32_t bits) { return std::exp2(-static_cast<double>(bits)) * (1 + std::exp2(1.0 - bits)); }

}  // namespace

double CuckooLoad(uint32_t bucket_size) {
  assert(kBucketSize.Allows(bucket_size));
  return kLoads[bucket_size - kBucketSize.min];
}

uint64_t CuckooCapacity(uint64_t buckets, uint32_t bucket_size) {
  const uint64_t slots = buckets * bucket_size;
  const uint64_t slack = kSlackBuckets / bucket_size;
  const auto full = static_cast<uint64_t>(CuckooLoad(bucket_size) * static_cast<double>(slots));
  return full > slack ? full - slack : 1;
}

uint64_t CuckooBuckets(uint64_t capacity, uint32_t bucket_size) {
  const double slots = static_cast<double>(capacity + kSlackBuckets / bucket_size) / CuckooLoad(bucket_size);
  uint64_t buckets = std::max(static_cast<uint64_t>(slots), FewestSlots(bucket_size)) / bucket_size;
  while (CuckooCapacity(buckets, bucket_size) < capacity) ++buckets;
  return buckets;
}

double CuckooRate(uint32_t fingerprint_bits, uint32_t bucket_size, double load) {
  return -std::expm1(Expected(bucket_size, load) * std::log1p(-EqualChance(fingerprint_bits)));
}

uint32_t CuckooFingerprintBits(double rate, uint32_t bucket_size) {
  uint32_t bits = kMinFingerprintBits;
  while (bits <= kMaxFingerprintBits && CuckooRate(bits, bucket_size, CuckooLoad(bucket_size)) > rate) ++bits;
  return bits;
}

double CuckooSmallestRate(uint32_t bucket_size) {
  return CuckooRate(kMaxFingerprintBits, bucket_size, CuckooLoad(bucket_size));
}

}  // namespace bitsieve::core
