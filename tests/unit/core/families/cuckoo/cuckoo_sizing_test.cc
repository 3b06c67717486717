#include "core/families/cuckoo/cuckoo_sizing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/families/cuckoo/cuckoo_type.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {
namespace {

TEST(CuckooSizing, BucketsAreTheFewestThatHoldTheCapacity) {
  for (uint32_t size = kBucketSize.min; size <= kBucketSize.max; ++size) {
    for (uint64_t capacity = 1; capacity < 100'000'000; capacity += 1 + capacity / 7) {
      const uint64_t buckets = CuckooBuckets(capacity, size);
      ASSERT_GE(CuckooCapacity(buckets, size), capacity) << size;
      if (capacity > 1000) {
        ASSERT_LT(CuckooCapacity(buckets - 1, size), capacity) << size;
      }
      ASSERT_LE(CuckooCapacity(buckets, size), buckets * size);
    }
  }
}

TEST(CuckooSizing, BucketsOfFourAreFilledTo95Percent) {
  EXPECT_NEAR(1e6 / static_cast<double>(4 * CuckooBuckets(1'000'000, 4)), 0.95, 1e-4);
  EXPECT_LT(4 * CuckooBuckets(1, 4), 130U) << "the smallest one";
}

TEST(CuckooSizing, FingerprintsAreTheNarrowestThatKeepTheRate) {
  EXPECT_EQ(CuckooFingerprintBits(0.01, 4), 10U);
  EXPECT_EQ(CuckooFingerprintBits(1e-3, 4), 13U);
  EXPECT_EQ(CuckooFingerprintBits(1e-4, 4), 17U);
  EXPECT_EQ(CuckooFingerprintBits(1e-6, 4), 23U);
  EXPECT_EQ(CuckooFingerprintBits(0.25, 4), kMinFingerprintBits);
  for (uint32_t size = kBucketSize.min; size <= kBucketSize.max; ++size) {
    EXPECT_EQ(CuckooFingerprintBits(CuckooSmallestRate(size) * 1.0001, size), kMaxFingerprintBits);
    EXPECT_GT(CuckooFingerprintBits(CuckooSmallestRate(size) / 1.0001, size), kMaxFingerprintBits);
    EXPECT_GT(CuckooFingerprintBits(1e-15, size), kMaxFingerprintBits);
  }
}

TEST(CuckooSizing, RateIsThatOfEachFingerprintInTurn) {
  EXPECT_EQ(CuckooRate(10, 4, 0), 0);
  const double equal = 1 - 1022.0 / 1024 * 1023 / 1024 - 2.0 / 1024 * 1022 / 1024;  // 0 and 1 are one fingerprint
  EXPECT_NEAR(CuckooRate(10, 4, 1), 1 - std::pow(1 - equal, 8), 1e-12);
  EXPECT_NEAR(CuckooRate(32, 4, 0.5), 4 * std::exp2(-32), 1e-17);
}

}  // namespace
}  // namespace bitsieve::core
