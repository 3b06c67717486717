#include "core/families/ribbon/hash_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

namespace bitsieve::core {
namespace {

using Outcome = HashSet::Outcome;

std::vector<uint64_t> RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random() | 1;
  return hashes;
}

std::vector<uint64_t> LogOf(const HashSet& set) {
  std::vector<uint64_t> all;
  for (const auto part : set.Log()) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(HashSet, TakesNoMoreThanItsMost) {
  MemoryBudget budget;
  const auto set = std::move(HashSet::Make(budget).value());
  EXPECT_LE(set->size_bytes(), HashSet::MostBytes(0));
  for (const uint64_t hash : RandomHashes(600'000, 3)) {
    set->Insert(hash);
    ASSERT_LE(set->size_bytes(), HashSet::MostBytes(set->size())) << set->size();
  }
  EXPECT_EQ(budget.used_bytes(), set->size_bytes());
  EXPECT_GT(set->size_bytes(), HashSet::MostBytes(set->size()) / 2);
}

TEST(HashSet, HoldsExactlyWhatWasInserted) {
  MemoryBudget budget;
  {
    const auto set = std::move(HashSet::Make(budget).value());
    const std::vector<uint64_t> hashes = RandomHashes(300'000, 1);
    for (const uint64_t hash : hashes) {
      ASSERT_FALSE(set->Contains(hash));
      ASSERT_EQ(set->Insert(hash), Outcome::kAdded);
      ASSERT_TRUE(set->Contains(hash));
    }
    for (const uint64_t hash : hashes) {
      ASSERT_TRUE(set->Contains(hash));
      ASSERT_FALSE(set->Contains(hash ^ 2));
      ASSERT_EQ(set->Insert(hash), Outcome::kPresent);
    }
    EXPECT_EQ(set->size(), hashes.size());
    EXPECT_EQ(LogOf(*set), hashes);
    EXPECT_EQ(set->size_bytes(), budget.used_bytes());
    EXPECT_LT(set->size_bytes(), 32 * hashes.size());
  }
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST(HashSet, IsWalkedByValue) {
  MemoryBudget budget;
  const auto set = std::move(HashSet::Make(budget).value());
  std::vector<uint64_t> hashes = RandomHashes(50'000, 2);
  for (const uint64_t hash : hashes) set->Insert(hash);
  std::sort(hashes.begin(), hashes.end());
  for (const auto& [first, last] : {std::pair{size_t{0}, size_t{49'999}}, {100, 100}, {20'000, 30'000}}) {
    std::vector<uint64_t> visited;
    uint64_t all = 0;
    set->ForEach(hashes[first], hashes[last], [&](uint64_t hash) {
      ++all;
      if (hash >= hashes[first] && hash <= hashes[last]) visited.push_back(hash);
    });
    std::sort(visited.begin(), visited.end());
    EXPECT_TRUE(std::equal(visited.begin(), visited.end(), hashes.begin() + first, hashes.begin() + last + 1));
    EXPECT_LT(all, last - first + 1000) << "only a few beyond";
  }
}

TEST(HashSet, RefusedMemoryChangesNothing) {
  MemoryBudget budget(200'000);
  const auto set = std::move(HashSet::Make(budget).value());
  const std::vector<uint64_t> hashes = RandomHashes(50'000, 3);
  size_t added = 0;
  while (set->Insert(hashes[added]) == Outcome::kAdded) ++added;
  EXPECT_GT(added, 3000U);
  EXPECT_EQ(set->size(), added);
  EXPECT_FALSE(set->Contains(hashes[added]));
  for (size_t i = 0; i < added; ++i) ASSERT_EQ(set->Insert(hashes[i]), Outcome::kPresent);
  budget.set_limit_bytes(0);
  for (size_t i = added; i < hashes.size(); ++i) ASSERT_EQ(set->Insert(hashes[i]), Outcome::kAdded);
  EXPECT_EQ(LogOf(*set), hashes);
}

// An attacker who knows the seed may choose items whose hashes share their top bits.
TEST(HashSet, ChosenHashesDoNotMakeTheDirectoryGrowWithoutBound) {
  MemoryBudget budget;
  const auto set = std::move(HashSet::Make(budget).value());
  uint64_t inserted = 0;
  while (inserted < 1000 && set->Insert(0x1234567800000000 + inserted) == Outcome::kAdded) ++inserted;
  EXPECT_GT(inserted, 400U);
  EXPECT_LT(inserted, 1000U);
  EXPECT_LT(set->size_bytes(), 1U << 20);
  for (uint64_t i = 0; i < inserted; ++i) EXPECT_TRUE(set->Contains(0x1234567800000000 + i));
  for (const uint64_t hash : RandomHashes(100, 4)) EXPECT_EQ(set->Insert(hash), Outcome::kAdded) << "others find room";
}

// Segments are divided and the directory doubles while others look: what was there is found all the time.
TEST(HashSet, NothingIsMissedWhileItGrows) {
  MemoryBudget budget;
  const auto set = std::move(HashSet::Make(budget).value());
  const std::vector<uint64_t> hashes = RandomHashes(100'000, 5);
  std::atomic<uint64_t> missed{0}, wrong{0};
  std::atomic<size_t> told{0};
  std::vector<std::thread> readers;
  for (uint64_t t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (size_t there; (there = told.load(std::memory_order_relaxed)) < hashes.size();) {
        // The size, not a lock, determines what must be found.
        const uint64_t least = set->size();
        if (least == 0) continue;
        missed += set->Contains(hashes[random() % least]) ? 0 : 1;
        wrong += set->Contains(hashes[random() % hashes.size()] ^ 2) ? 1 : 0;
      }
    });
  }
  for (const uint64_t hash : hashes) {
    set->Insert(hash);
    told.fetch_add(1, std::memory_order_relaxed);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missed, 0U);
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace bitsieve::core
