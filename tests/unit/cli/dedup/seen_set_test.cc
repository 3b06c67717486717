#include "cli/dedup/seen_set.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/hash/key_hash.h"

namespace bitsieve::cli {
namespace {

using core::AddOutcome;
using core::KeyHash;

// Adds `count` items, and returns how many were taken for new.
uint64_t AddItems(SeenSet& seen, uint64_t first, uint64_t count) {
  std::array<std::vector<KeyHash>, SeenSet::kPartitions> hashes;
  for (uint64_t i = first; i < first + count; ++i) {
    const KeyHash hash = core::HashItem(std::to_string(i), seen.params().seed);
    hashes[SeenSet::PartitionOf(hash)].push_back(hash);
  }
  uint64_t added = 0;
  for (size_t i = 0; i < hashes.size(); ++i) {
    std::vector<AddOutcome> outcomes(hashes[i].size());
    EXPECT_TRUE(seen.partition(i).Add(hashes[i], outcomes));
    for (const AddOutcome each : outcomes) added += each == AddOutcome::kAdded;
  }
  return added;
}

TEST(SeenSet, PartitionsHaveRoomForChance) {
  EXPECT_EQ(SeenSet::PartitionItems(256 * 10'000), 10'600u);
  EXPECT_GE(SeenSet::PartitionItems(1), 1u);
  EXPECT_EQ(SeenSet::PartitionItems(uint64_t{1} << 60), core::kMaxCapacity);
}

TEST(SeenSet, KeepsItsRateAndItsMemory) {
  for (const double rate : {0.1, 0.01, 0.001, 1e-5}) {
    core::MemoryBudget budget;
    constexpr uint64_t kItems = 500'000;
    SeenSet seen = SeenSet::Make({.error_rate = rate, .items = kItems}, budget).value();
    const uint64_t added = AddItems(seen, 0, kItems);
    EXPECT_EQ(AddItems(seen, 0, kItems), 0u);
    EXPECT_EQ(seen.items(), added);
    EXPECT_FALSE(seen.has_grown());
    EXPECT_LE(seen.size_bytes(), SeenSet::BytesFor(seen.params()));
    // The last items of a full set.
    const auto dropped = static_cast<double>(100'000 - AddItems(seen, kItems, 100'000));
    EXPECT_LE(dropped, rate * 100'000 + 4 * std::sqrt(rate * 100'000));
    EXPECT_LE(seen.ErrorRate(), rate);
  }
}

TEST(SeenSet, KeepsItsRateWhenItGrows) {
  core::MemoryBudget budget;
  SeenSet seen = SeenSet::Make({.error_rate = 0.01, .items = 20'000}, budget).value();
  AddItems(seen, 0, 400'000);
  EXPECT_TRUE(seen.has_grown());
  EXPECT_GT(AddItems(seen, 400'000, 100'000), 98'800u);
  EXPECT_LE(seen.ErrorRate(), 0.01);
}

TEST(SeenSet, IsExactIfItShall) {
  core::MemoryBudget budget;
  SeenSet seen = SeenSet::Make({.exact = true, .items = 100'000}, budget).value();
  EXPECT_EQ(seen.size_bytes(), SeenSet::BytesFor(seen.params()));
  EXPECT_EQ(AddItems(seen, 0, 100'000), 100'000u);
  EXPECT_EQ(AddItems(seen, 50'000, 100'000), 50'000u);
  EXPECT_EQ(seen.ErrorRate(), 0);
}

TEST(SeenSet, IsRefusedByTheBudget) {
  for (const bool exact : {false, true}) {
    const SeenParams params{.exact = exact, .items = 10'000'000};
    core::MemoryBudget budget(SeenSet::BytesFor(params) / 2);
    const auto seen = SeenSet::Make(params, budget);
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().code, core::ErrorCode::kOutOfMemory);
  }
}

}  // namespace
}  // namespace bitsieve::cli
