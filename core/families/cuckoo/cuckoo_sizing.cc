#include "core/families/cuckoo/cuckoo_sizing.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "core/base/parse.h"
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
uint64_t DivideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }
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

Result<CuckooShape> FirstCuckooShape(const FilterParams& params, uint64_t capacity, uint32_t bucket_size) {
  const double rate = RateOfSubFilter(params, 0);
  const uint32_t bits = CuckooFingerprintBits(rate, bucket_size);
  if (bits > kMaxFingerprintBits) {
    const double smallest = CuckooSmallestRate(bucket_size) / params.first_share;
    // Rounded up in its last digit, so that the rate in the message can be requested.
    return Fail(ErrorCode::kInvalidArgument, "error rate is too small for fingerprints of 32 bits; the smallest of " +
                                                 AFilterOf(*FindFilterType(params.type)) + " such as this is " +
                                                 RoundedText(smallest * 1.05, 2));
  }
  const uint64_t buckets = CuckooBuckets(capacity, bucket_size);
  return CuckooShape{capacity, rate, buckets, bucket_size, bits};
}

Result<CuckooShape> NextCuckooShape(const FilterParams& params, const CuckooShape& last, uint32_t tables,
                                    uint64_t total_capacity) {
  const double rate = RateOfSubFilter(params, tables);
  const uint32_t bits = std::max(last.fingerprint_bits, CuckooFingerprintBits(rate, last.bucket_size));
  if (bits > kMaxFingerprintBits || tables == kMaxCuckooTables) {
    return Fail(ErrorCode::kInvalidArgument, "the error rate of a further table would be too small");
  }
  const uint64_t multiple = std::max<uint64_t>(params.expansion, DivideUp(total_capacity / 4, last.capacity));
  if (multiple > kMaxCuckooSlots / last.Slots()) {
    return Fail(ErrorCode::kOutOfMemory, "a further table would be larger than any memory");
  }
  const uint64_t buckets = last.buckets * multiple;
  return CuckooShape{CuckooCapacity(buckets, last.bucket_size), rate, buckets, last.bucket_size, bits};
}

}  // namespace bitsieve::core
