#include "core/memory/packed_buckets.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>
#include <vector>

namespace bitsieve::core {
namespace {

class PackedBucketsOfShape : public testing::TestWithParam<std::tuple<uint32_t, uint32_t>> {};

TEST_P(PackedBucketsOfShape, FindWhatASearchSlotBySlotFinds) {
  constexpr uint64_t kBuckets = 37;
  const auto [bits, size] = GetParam();
  std::vector<uint64_t> memory(PackedSlots::BytesFor(kBuckets * size, bits) / 8);
  PackedBuckets buckets(reinterpret_cast<std::byte*>(memory.data()), bits, size);
  std::mt19937_64 random(bits * 100 + size);
  const uint64_t largest = (uint64_t{1} << bits) - 1;
  // Few values, neighbours among them, so that borrows run through equal and nearly equal slots.
  const auto value = [&] {
    const uint64_t values[] = {0, 1, 2, largest, largest - 1, largest / 2, largest / 2 + 1, random() & largest};
    return values[random() % std::size(values)] & largest;
  };
  for (int round = 0; round < 3000; ++round) {
    const uint64_t bucket = random() % kBuckets;
    buckets.Set(bucket, static_cast<uint32_t>(random() % size), value());
    const uint64_t wanted = value();
    uint32_t first = PackedBuckets::kNone;
    uint32_t count = 0;
    for (uint32_t slot = size; slot-- > 0;) {
      if (buckets.Get(bucket, slot) != wanted) continue;
      first = slot;
      ++count;
    }
    ASSERT_EQ(buckets.Find(bucket, wanted), first);
    ASSERT_EQ(buckets.Contain(bucket, bucket, wanted), first != PackedBuckets::kNone);
    const uint64_t other = (bucket + 1) % kBuckets;
    const bool in_either = first != PackedBuckets::kNone || buckets.Find(other, wanted) != PackedBuckets::kNone;
    ASSERT_EQ(buckets.Contain(bucket, other, wanted), in_either);
    ASSERT_EQ(buckets.Contain(other, bucket, wanted), in_either);
    ASSERT_EQ(buckets.Count(bucket, wanted), count);
    const PackedBuckets::Place place = buckets.FindInEither(bucket, other, wanted);
    ASSERT_EQ(place.slot != PackedBuckets::kNone, in_either);
    if (in_either) {
      ASSERT_EQ(buckets.Get(place.bucket, place.slot), wanted);
    }
  }
}

// The upper bits of a slot, or the lower ones, hold something else.
TEST_P(PackedBucketsOfShape, FindByAPartOfASlot) {
  constexpr uint64_t kBuckets = 37;
  const auto [bits, size] = GetParam();
  if (bits < 2) GTEST_SKIP() << "a slot has no parts";
  std::vector<uint64_t> memory(PackedSlots::BytesFor(kBuckets * size, bits) / 8);
  PackedBuckets all(reinterpret_cast<std::byte*>(memory.data()), bits, size);
  std::mt19937_64 random(bits * 100 + size);
  const uint64_t lower = (uint64_t{1} << bits / 2) - 1, upper = ((uint64_t{1} << bits) - 1) ^ lower;
  for (uint64_t bucket = 0; bucket < kBuckets; ++bucket) {
    for (uint32_t slot = 0; slot < size; ++slot) all.Set(bucket, slot, random() & (lower | upper));
  }
  for (const uint64_t part : {lower, upper}) {
    const PackedBuckets by_part(reinterpret_cast<std::byte*>(memory.data()), bits, size, part);
    for (int round = 0; round < 2000; ++round) {
      const uint64_t bucket = random() % kBuckets, other = random() % kBuckets, wanted = random() & part;
      bool expected = false;
      for (uint32_t slot = 0; slot < size; ++slot) {
        expected |= (all.Get(bucket, slot) & part) == wanted || (all.Get(other, slot) & part) == wanted;
      }
      ASSERT_EQ(by_part.Contain(bucket, other, wanted), expected);
      const PackedBuckets::Place place = by_part.FindInEither(bucket, other, wanted);
      ASSERT_EQ(place.slot != PackedBuckets::kNone, expected);
      if (expected) {
        ASSERT_EQ(all.Get(place.bucket, place.slot) & part, wanted);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PackedBucketsOfShape,
                         testing::Combine(testing::Range(1U, PackedSlots::kMaxBits + 1),
                                          testing::Values(1U, 2U, 3U, 4U, 5U, 7U, 8U)));

}  // namespace
}  // namespace bitsieve::core
