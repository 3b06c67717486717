#include "core/filter/false_positive_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "tests/support/random_hashes.h"

namespace bitsieve::core {
namespace {

using Hashes = std::vector<KeyHash>;

Hashes All(const FalsePositiveList& list) {
  Hashes all(list.size());
  list.CopyTo(all);
  return all;
}

TEST(FalsePositiveList, HoldsExactlyWhatWasNotedAndNotTakenOff) {
  MemoryBudget budget;
  {
    const auto list = FalsePositiveList::Make(budget);
    const Hashes hashes = RandomKeyHashes(2'000, 1);
    Hashes expected;  // as the list keeps it
    std::mt19937_64 random(2);
    for (int i = 0; i < 20'000; ++i) {
      const KeyHash& hash = hashes[random() % hashes.size()];
      const auto at = std::ranges::find(expected, hash);
      ASSERT_EQ(list->Contains(hash), at != expected.end());
      if (at == expected.end() && random() % 3 != 0) {
        ASSERT_EQ(list->Add(hash), RecordOutcome::kRecorded);
        expected.push_back(hash);
      } else {
        ASSERT_EQ(list->TakeOff(hash), at != expected.end());
        if (at == expected.end()) continue;
        *at = expected.back();
        expected.pop_back();
      }
      ASSERT_EQ(list->size(), expected.size());
    }
    EXPECT_EQ(All(*list), expected);
    for (const KeyHash& hash : hashes) {
      ASSERT_EQ(list->Contains(hash), std::ranges::find(expected, hash) != expected.end());
    }
    EXPECT_EQ(list->size_bytes(), budget.used_bytes());
  }
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST(FalsePositiveList, HashesThatDifferInOneHalfAreDifferent) {
  MemoryBudget budget;
  const auto list = FalsePositiveList::Make(budget);
  ASSERT_EQ(list->Add({1, 2}), RecordOutcome::kRecorded);
  for (const KeyHash& other : {KeyHash{1, 3}, KeyHash{3, 2}, KeyHash{2, 1}, KeyHash{0, 0}}) {
    EXPECT_FALSE(list->Contains(other));
    EXPECT_FALSE(list->TakeOff(other));
  }
  EXPECT_TRUE(list->Contains({1, 2}));
}

TEST(FalsePositiveList, TakesOutOnlyWhatIsPresentAndOnTheList) {
  MemoryBudget budget;
  const auto list = FalsePositiveList::Make(budget);
  list->Add({1, 1});
  list->Add({2, 2});
  const Hashes hashes{{1, 1}, {2, 2}, {3, 3}, {4, 4}};
  std::vector<uint8_t> present{1, 0, 1, 0};
  list->TakeOut(hashes, present);
  EXPECT_EQ(present, (std::vector<uint8_t>{0, 0, 1, 0}));
}

TEST(FalsePositiveList, RefusesMoreThanItsMost) {
  MemoryBudget budget;
  const auto list = FalsePositiveList::Make(budget);
  const Hashes hashes = RandomKeyHashes(FalsePositiveList::kMaxHashes + 1, 3);
  for (size_t i = 0; i < FalsePositiveList::kMaxHashes; ++i) ASSERT_EQ(list->Add(hashes[i]), RecordOutcome::kRecorded);
  const uint64_t changes = list->changes();
  EXPECT_EQ(list->Add(hashes.back()), RecordOutcome::kTooMany);
  EXPECT_FALSE(list->Contains(hashes.back()));
  EXPECT_EQ(list->changes(), changes);
  EXPECT_LE(list->size_bytes(), 96 * uint64_t{FalsePositiveList::kMaxHashes});
  EXPECT_TRUE(list->TakeOff(hashes[17]));
  EXPECT_EQ(list->Add(hashes.back()), RecordOutcome::kRecorded) << "there is room again";
}

TEST(FalsePositiveList, WithoutMemoryItStaysAsItIs) {
  MemoryBudget budget;
  const auto list = FalsePositiveList::Make(budget);
  const Hashes hashes = RandomKeyHashes(9, 4);
  budget.set_limit_bytes(1);
  EXPECT_EQ(list->Add(hashes[0]), RecordOutcome::kOutOfMemory);
  EXPECT_EQ(FalsePositiveList::Make(budget), nullptr);
  budget.set_limit_bytes(0);
  for (size_t i = 0; i < 8; ++i) ASSERT_EQ(list->Add(hashes[i]), RecordOutcome::kRecorded);
  budget.set_limit_bytes(1);
  EXPECT_EQ(list->Add(hashes[8]), RecordOutcome::kOutOfMemory);
  EXPECT_EQ(All(*list), Hashes(hashes.begin(), hashes.begin() + 8));
}

// A hash that stays on the list is never missed, and one that never was on it is never found, while other hashes are
// noted and taken off.
TEST(FalsePositiveList, ReadersNeedNoLock) {
  MemoryBudget budget;
  const auto list = FalsePositiveList::Make(budget);
  const Hashes stays = RandomKeyHashes(200, 5), never = RandomKeyHashes(200, 6), moves = RandomKeyHashes(3'000, 7);
  for (const KeyHash& hash : stays) list->Add(hash);
  std::atomic<bool> done{false};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      std::vector<uint8_t> present;
      while (!done.load()) {
        present.assign(stays.size(), 1);
        list->TakeOut(stays, present);
        ASSERT_EQ(std::ranges::count(present, 1), 0);
        present.assign(never.size(), 1);
        list->TakeOut(never, present);
        ASSERT_EQ(std::ranges::count(present, 0), 0);
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    for (const KeyHash& hash : moves) list->Add(hash);
    for (const KeyHash& hash : moves) list->TakeOff(hash);
  }
  done = true;
}

TEST(FalsePositiveSlot, SharesItsListWithOthers) {
  MemoryBudget budget;
  {
    FalsePositiveSlot second;
    {
      FalsePositiveSlot first;
      EXPECT_EQ(first.get(), nullptr);
      first.Set(FalsePositiveList::Make(budget).release());
      first.get()->Add({1, 1});
      second.Set(first.get());
    }
    EXPECT_TRUE(second.get()->Contains({1, 1}));
  }
  EXPECT_EQ(budget.used_bytes(), 0U);
}

}  // namespace
}  // namespace bitsieve::core
