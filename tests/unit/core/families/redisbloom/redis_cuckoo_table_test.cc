// Buckets of fingerprints, and the table that counts them.
#include "core/families/redisbloom/redis_cuckoo_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/families/redisbloom/redis_cuckoo_slots.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {
namespace {

CuckooFingerprint FingerprintOfNumber(uint64_t number) { return RedisCuckooSlots::FingerprintOf({Mix64(number), 0}); }

TEST(RedisCuckooSlots, AFingerprintIsNeverThatOfAFreeSlot) {
  EXPECT_EQ(RedisCuckooSlots::FingerprintOf({.low = 0, .high = 0}).fingerprint, 1);
  EXPECT_EQ(RedisCuckooSlots::FingerprintOf({.low = 254, .high = 0}).fingerprint, 255);
  EXPECT_EQ(RedisCuckooSlots::FingerprintOf({.low = 255, .high = 0}).fingerprint, 1);
}

class RedisCuckooSlotsTest : public testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint64_t kBuckets = 4;

  RedisCuckooSlots Slots() { return {bytes_.data(), kBuckets - 1, GetParam(), nullptr}; }
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kBuckets * GetParam());
};

INSTANTIATE_TEST_SUITE_P(BucketSizes, RedisCuckooSlotsTest, testing::Values(1, 2, 3, 4, 8));

TEST_P(RedisCuckooSlotsTest, AFingerprintFitsIntoItsTwoBuckets) {
  const CuckooFingerprint fingerprint{.first = 1, .second = 2, .fingerprint = 7};
  uint64_t placed = 0;
  while (Slots().Place(fingerprint)) ++placed;
  EXPECT_EQ(placed, 2 * GetParam());
  EXPECT_EQ(Slots().Count(fingerprint), placed);
  EXPECT_TRUE(Slots().Contains(fingerprint));
  EXPECT_FALSE(Slots().Contains({.first = 0, .second = 3, .fingerprint = 7})) << "those are other buckets";
  EXPECT_FALSE(Slots().Contains({.first = 1, .second = 2, .fingerprint = 8}));
  for (; placed > 0; --placed) EXPECT_TRUE(Slots().Take(fingerprint));
  EXPECT_FALSE(Slots().Take(fingerprint));
  EXPECT_FALSE(Slots().Contains(fingerprint));
}

TEST_P(RedisCuckooSlotsTest, TheFingerprintOfASlotFindsItsBucketsAgain) {
  const CuckooFingerprint fingerprint = FingerprintOfNumber(3);
  ASSERT_TRUE(Slots().Place(fingerprint));
  uint64_t found = 0;
  for (uint64_t slot = 0; slot < bytes_.size(); ++slot) {
    const auto there = Slots().FingerprintAt(slot);
    if (!there) continue;
    ++found;
    EXPECT_EQ(there->fingerprint, fingerprint.fingerprint);
    EXPECT_TRUE(Slots().Contains(*there));
    Slots().Free(slot);
  }
  EXPECT_EQ(found, 1U);
  EXPECT_FALSE(Slots().Contains(fingerprint));
}

TEST_P(RedisCuckooSlotsTest, AKickThatFindsNoRoomLeavesAllAsItWas) {
  for (uint8_t& slot : bytes_) slot = static_cast<uint8_t>(1 + (&slot - bytes_.data()));
  const std::vector<uint8_t> before = bytes_;
  EXPECT_FALSE(Slots().Kick(FingerprintOfNumber(5), 50));
  EXPECT_EQ(bytes_, before);
}

TEST(RedisCuckooTable, CountsItsFingerprints) {
  MemoryBudget budget;
  const auto made = RedisCuckooTable::Make(64, 2, budget);
  ASSERT_TRUE(made);
  RedisCuckooTable& table = **made;
  EXPECT_EQ(table.slots(), 128U);
  EXPECT_EQ(table.capacity(), 128U);
  EXPECT_EQ(budget.used_bytes(), table.size_bytes());
  std::vector<CuckooFingerprint> stored;
  for (uint64_t i = 0; i < 60; ++i) {
    const CuckooFingerprint fingerprint = FingerprintOfNumber(i);
    if (table.Place(fingerprint) || table.Kick(fingerprint, 20)) stored.push_back(fingerprint);
  }
  EXPECT_GT(stored.size(), 50U);
  EXPECT_EQ(table.items(), stored.size());
  for (const CuckooFingerprint& fingerprint : stored) EXPECT_TRUE(table.Contains(fingerprint)) << "after all the kicks";
  for (const CuckooFingerprint& fingerprint : stored) EXPECT_TRUE(table.Take(fingerprint));
  EXPECT_EQ(table.items(), 0U);
  EXPECT_FALSE(table.Take(stored[0]));
  EXPECT_EQ(table.items(), 0U);
}

TEST(RedisCuckooTable, IsRefusedByTheBudget) {
  MemoryBudget budget(63);
  const auto refused = RedisCuckooTable::Make(64, 2, budget);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace bitsieve::core
