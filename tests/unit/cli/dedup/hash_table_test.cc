#include "cli/dedup/hash_table.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "cli/dedup/seen_partition.h"
#include "core/base/bytes.h"

namespace bitsieve::cli {
namespace {

using core::AddOutcome;
using core::KeyHash;

std::vector<KeyHash> RandomHashes(size_t count) {
  std::mt19937_64 random(7);
  std::vector<KeyHash> hashes(count);
  for (KeyHash& hash : hashes) hash = {random(), random()};
  return hashes;
}

std::vector<AddOutcome> Added(HashTable& table, const std::vector<KeyHash>& hashes) {
  std::vector<AddOutcome> outcomes(hashes.size());
  EXPECT_TRUE(table.Add(hashes, outcomes));
  return outcomes;
}

TEST(HashTable, KnowsWhatWasAdded) {
  core::MemoryBudget budget;
  const auto table = HashTable::Make(1000, budget).value();
  EXPECT_EQ(table->size_bytes(), HashTable::BytesFor(1000));
  EXPECT_EQ(table->size_bytes(), budget.used_bytes());
  const auto hashes = RandomHashes(1000);
  for (const AddOutcome each : Added(*table, hashes)) EXPECT_EQ(each, AddOutcome::kAdded);
  for (const AddOutcome each : Added(*table, hashes)) EXPECT_EQ(each, AddOutcome::kPresent);
  EXPECT_EQ(table->items(), 1000u);
  EXPECT_FALSE(table->has_grown());
}

TEST(HashTable, TellsTheSecondOfABatch) {
  core::MemoryBudget budget;
  const auto table = HashTable::Make(10, budget).value();
  const std::vector<KeyHash> hashes{{5, 1}, {5, 2}, {5, 1}, {0, 0}, {0, 0}};
  EXPECT_EQ(Added(*table, hashes), (std::vector{AddOutcome::kAdded, AddOutcome::kAdded, AddOutcome::kPresent,
                                                AddOutcome::kAdded, AddOutcome::kPresent}));
}

TEST(HashTable, Grows) {
  core::MemoryBudget budget;
  const auto table = HashTable::Make(1, budget).value();
  const auto hashes = RandomHashes(50'000);
  for (const AddOutcome each : Added(*table, hashes)) EXPECT_EQ(each, AddOutcome::kAdded);
  for (const AddOutcome each : Added(*table, hashes)) EXPECT_EQ(each, AddOutcome::kPresent);
  EXPECT_TRUE(table->has_grown());
  EXPECT_LE(table->size_bytes(), 50'000 * 31);
  EXPECT_EQ(table->size_bytes(), budget.used_bytes());
}

TEST(HashTable, StopsAtTheBudget) {
  core::MemoryBudget budget(HashTable::BytesFor(1000));
  const auto table = HashTable::Make(1000, budget).value();
  EXPECT_FALSE(HashTable::Make(1000, budget));
  const auto hashes = RandomHashes(2000);
  std::vector<AddOutcome> outcomes(hashes.size());
  const auto added = table->Add(hashes, outcomes);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error(), AddOutcome::kOutOfMemory);
}

TEST(HashTable, EncodesEachHashOnce) {
  core::MemoryBudget budget;
  const auto table = HashTable::Make(100, budget).value();
  Added(*table, RandomHashes(300));
  std::string bytes;
  ASSERT_TRUE(table->Encode([&bytes](std::string_view more) {
    bytes += more;
    return core::Status();
  }));
  ASSERT_EQ(bytes.size(), table->encoded_bytes());
  const auto copy = HashTable::Make(300, budget).value();
  core::ByteReader in(bytes);
  for (int i = 0; i < 300; ++i) {
    KeyHash hash{in.Get<uint64_t>(), 0};
    hash.high = in.Get<uint64_t>();
    EXPECT_EQ(Added(*copy, {hash})[0], AddOutcome::kAdded);
  }
  for (const AddOutcome each : Added(*copy, RandomHashes(300))) EXPECT_EQ(each, AddOutcome::kPresent);
}

}  // namespace
}  // namespace bitsieve::cli
