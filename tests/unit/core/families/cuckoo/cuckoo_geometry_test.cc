#include "core/families/cuckoo/cuckoo_geometry.h"

#include <gtest/gtest.h>

#include <random>

namespace bitsieve::core {
namespace {

constexpr CuckooShape Shape(uint64_t buckets, uint32_t bits) { return {1, 0.01, buckets, 4, bits}; }

// On this, removals from chains rest.
TEST(CuckooGeometry, APairOfATableLiesWithinThePairOfTheOlderOne) {
  const CuckooGeometry oldest(Shape(37, 10), nullptr), middle(Shape(37 * 2, 11), &oldest);
  const CuckooGeometry newest(Shape(37 * 2 * 3, 15), &middle);
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const CuckooKey key = oldest.KeyOf({random(), random()});
    const CuckooPair first = oldest.Refine({}, key), second = middle.Refine(first, key);
    const CuckooPair third = newest.Refine(second, key);
    ASSERT_EQ(second.bucket / 2, first.bucket);
    ASSERT_EQ(second.partner / 2, first.partner);
    ASSERT_EQ(third.bucket / 3, second.bucket);
    ASSERT_EQ(third.partner / 3, second.partner);
  }
}

TEST(CuckooGeometry, ThePartnerFollowsFromTheFingerprint) {
  const CuckooGeometry oldest(Shape(37, 10), nullptr), newest(Shape(37 * 5, 13), &oldest);
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const CuckooKey key = newest.KeyOf({random(), random()});
    const CuckooPair pair = newest.Refine(oldest.Refine({}, key), key);
    ASSERT_LT(pair.partner, newest.shape().buckets);
    ASSERT_EQ(newest.PartnerOf(pair.bucket, newest.FingerprintOf(key)), pair.partner);
    ASSERT_EQ(newest.PartnerOf(pair.partner, newest.FingerprintOf(key)), pair.bucket);
  }
}

}  // namespace
}  // namespace bitsieve::core
