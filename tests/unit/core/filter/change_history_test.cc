#include "core/filter/change_history.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/filter/change_runs.h"
#include "core/filter/filter_factory.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::core {
namespace {

// Returns hashes that count up from `first`.
std::vector<KeyHash> HashesFrom(uint64_t first, size_t count) {
  std::vector<KeyHash> hashes(count);
  for (KeyHash& hash : hashes) hash = {first++, 0};
  return hashes;
}

class ChangeHistoryTest : public testing::Test {
 protected:
  void Add(ChangeHistory& history, uint64_t first, size_t count, ChangeKind kind = ChangeKind::kAdded,
           uint64_t time_ms = 0, uint64_t until_ms = 0) {
    const std::vector<KeyHash> hashes = HashesFrom(first, count);
    EXPECT_TRUE(history.Add({kind, 0, 0, time_ms, hashes, until_ms}));
  }
  // Returns the numbers of the hashes of a page, with what begins each run.
  static std::string TextOf(const ChangeHistory::Page& page) {
    std::string bytes, text;
    page.AppendTo(bytes);
    EXPECT_EQ(bytes.size(), page.bytes());
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto run = TakeChangeRun(rest);
      EXPECT_TRUE(run) << run.error().message;
      text += "kind " + std::to_string(static_cast<int>(run->kind)) + " at " + std::to_string(run->time_ms) + ":";
      for (size_t i = 0; i < run->hashes.size(); i += sizeof(KeyHash)) {
        uint64_t low;
        std::memcpy(&low, run->hashes.data() + i, sizeof low);
        text += " " + std::to_string(low);
      }
      text += "\n";
    }
    return text;
  }

  // Calls use(low half, kind) for each hash of a page, in order.
  template <class Use>
  static void ForEachHash(const ChangeHistory::Page& page, const Use& use) {
    std::string bytes;
    page.AppendTo(bytes);
    for (std::string_view rest = bytes; !rest.empty();) {
      const auto run = TakeChangeRun(rest);
      for (size_t i = 0; i < run->hashes.size(); i += sizeof(KeyHash)) {
        uint64_t low;
        std::memcpy(&low, run->hashes.data() + i, sizeof low);
        use(low, run->kind);
      }
    }
  }

  test::ManualClock clock_;
  const std::shared_ptr<MemoryBudget> memory_ = std::make_shared<MemoryBudget>(uint64_t{1} << 20);
  ChangeHistory history_{memory_, clock_};
};

TEST_F(ChangeHistoryTest, ReturnsWhatCameAfterAPosition) {
  const ChangePosition begin = history_.position();
  EXPECT_NE(begin.history, 0U);
  Add(history_, 0, 3);
  const ChangePosition middle = history_.position();
  Add(history_, 3, 2);
  Add(history_, 3, 1, ChangeKind::kRemoved);
  Add(history_, 9, 1, ChangeKind::kAdded, 5, 7);
  const auto all = history_.Since(begin, 100);
  ASSERT_TRUE(all);
  EXPECT_EQ(TextOf(*all), "kind 0 at 0: 0 1 2 3 4\nkind 1 at 0: 3\nkind 0 at 5: 9\n");
  EXPECT_TRUE(all->is_last());
  EXPECT_EQ(all->end(), history_.position());
  EXPECT_EQ(TextOf(*history_.Since(middle, 100)), "kind 0 at 0: 3 4\nkind 1 at 0: 3\nkind 0 at 5: 9\n");
  EXPECT_EQ(TextOf(*history_.Since(history_.position(), 100)), "");
}

TEST_F(ChangeHistoryTest, PagesOfAnySizeGiveTheSame) {
  const ChangePosition begin = history_.position();
  for (uint64_t i = 0; i < 3000; ++i) Add(history_, i, 1, i % 7 == 0 ? ChangeKind::kRemoved : ChangeKind::kAdded);
  for (const size_t most : {1U, 2U, 63U, 64U, 65U, 999U, 5000U}) {
    uint64_t next = 0;
    for (ChangePosition at = begin; next < 3000;) {
      const auto page = history_.Since(at, most);
      ASSERT_TRUE(page);
      ASSERT_EQ(page->end().changes, std::min<uint64_t>(3000, at.changes + most));
      ASSERT_EQ(page->is_last(), page->end().changes == 3000);
      ForEachHash(*page, [&next](uint64_t low, ChangeKind kind) {
        ASSERT_EQ(low, next);
        ASSERT_EQ(kind == ChangeKind::kRemoved, next++ % 7 == 0);
      });
      ASSERT_FALSE(HasFatalFailure());
      at = page->end();
    }
    EXPECT_EQ(next, 3000U);
  }
}

TEST_F(ChangeHistoryTest, PositionsThatItDoesNotHaveAreAGap) {
  Add(history_, 0, 3);
  const ChangePosition end = history_.position();
  EXPECT_FALSE(history_.Since({end.history, 4}, 1)) << "beyond its end";
  EXPECT_FALSE(history_.Since({end.history + 1, 0}, 1)) << "of another history";
  EXPECT_FALSE(history_.Since({}, 1)) << "nowhere";
  EXPECT_TRUE(history_.Restart());
  EXPECT_FALSE(history_.Since(end, 1)) << "of before the restart";
  EXPECT_EQ(history_.used_bytes(), 0U);
  EXPECT_TRUE(history_.Since(history_.position(), 1));
}

TEST_F(ChangeHistoryTest, TheOldestChangesMakeRoomForNewOnes) {
  const ChangePosition begin = history_.position();
  for (uint64_t i = 0; i < 3000; ++i) Add(history_, i * 64, 64);
  EXPECT_FALSE(history_.Since(begin, 1));
  EXPECT_LE(history_.used_bytes(), uint64_t{1} << 19) << "half of the budget is left for others";
  EXPECT_GT(history_.used_bytes(), uint64_t{1} << 18);
  EXPECT_EQ(memory_->used_bytes(), history_.used_bytes());
  const auto latest = history_.Since({history_.position().history, 192'000 - 10'000}, 20'000);
  ASSERT_TRUE(latest);
  EXPECT_EQ(latest->end().changes, 192'000U);
}

TEST_F(ChangeHistoryTest, ABusyHistoryLeavesRoomForOthers) {
  ChangeHistory quiet(memory_, clock_);
  for (uint64_t i = 0; i < 3000; ++i) Add(history_, i * 64, 64);
  const ChangePosition begin = quiet.position();
  for (uint64_t i = 0; i < 100; ++i) Add(quiet, i * 64, 64);
  const auto page = quiet.Since(begin, 10'000);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->end().changes, 6400U);
}

TEST_F(ChangeHistoryTest, WithoutMemoryThereIsAGap) {
  memory_->set_limit_bytes(1);
  const ChangePosition begin = history_.position();
  Add(history_, 0, 1);
  EXPECT_FALSE(history_.Since(begin, 1));
  memory_->set_limit_bytes(0);
  const ChangePosition again = history_.position();
  Add(history_, 1, 1);
  EXPECT_EQ(TextOf(*history_.Since(again, 1)), "kind 0 at 0: 1\n");
}

TEST_F(ChangeHistoryTest, APageOutlivesTheHistory) {
  auto history = std::make_unique<ChangeHistory>(memory_, clock_);
  const ChangePosition begin = history->position();
  Add(*history, 1, 2);
  const auto page = history->Since(begin, 2);
  history.reset();
  EXPECT_EQ(memory_->used_bytes(), 0U);
  EXPECT_EQ(TextOf(*page), "kind 0 at 0: 1 2\n");
}

TEST_F(ChangeHistoryTest, EndsWhenNobodyReadsIt) {
  clock_.now_ms += ChangeHistory::kPatienceMs;
  Add(history_, 0, 1);
  EXPECT_TRUE(history_.Since(history_.position(), 1));
  clock_.now_ms += ChangeHistory::kPatienceMs;
  EXPECT_FALSE(history_.is_idle());
  clock_.now_ms += 1;
  EXPECT_TRUE(history_.is_idle());
  const std::vector<KeyHash> hashes = HashesFrom(0, 1);
  EXPECT_FALSE(history_.Add({ChangeKind::kAdded, 0, 0, 0, hashes}));
  EXPECT_TRUE(history_.has_ended());
  EXPECT_FALSE(history_.Restart());
  EXPECT_FALSE(history_.KeepAlive());
  EXPECT_FALSE(history_.Since(history_.position(), 1));
  EXPECT_EQ(memory_->used_bytes(), 0U);
}

TEST_F(ChangeHistoryTest, AFilterForgetsAHistoryThatHasEnded) {
  FilterParams params;
  params.capacity = 1000;
  MemoryBudget budget;
  const auto filter = std::move(*MakeFilter(params, budget, clock_));
  EXPECT_EQ(filter->history(), nullptr);
  const auto history = std::make_shared<ChangeHistory>(memory_, clock_);
  filter->SetHistory(history);
  EXPECT_EQ(filter->history(), history);
  const auto add = [&](std::string_view item) {
    const KeyHash hash = filter->HashOf(item);
    AddOutcome outcome;
    filter->Add({&hash, 1}, {&outcome, 1});
  };
  add("a");
  add("a");
  EXPECT_EQ(history->position().changes, 1U) << "what was there already is no change";
  EXPECT_EQ(filter->Capture()->position(), history->position());
  history->End();
  EXPECT_EQ(filter->history(), nullptr);
  EXPECT_EQ(history.use_count(), 2);
  add("b");
  EXPECT_EQ(history.use_count(), 1);
  EXPECT_EQ(filter->Capture()->position(), ChangePosition{});
}

TEST_F(ChangeHistoryTest, CanBeReadWhileItGrows) {
  const ChangePosition begin = history_.position();
  memory_->set_limit_bytes(0);
  constexpr uint64_t kAll = 200'000;
  std::jthread writer([this] {
    for (uint64_t i = 0; i < kAll; i += 40) Add(history_, i, 40);
  });
  uint64_t next = 0;
  for (ChangePosition at = begin; next < kAll;) {
    const auto page = history_.Since(at, 1000);
    ASSERT_TRUE(page);
    ForEachHash(*page, [&next](uint64_t low, ChangeKind) { ASSERT_EQ(low, next++); });
    ASSERT_FALSE(HasFatalFailure());
    at = page->end();
  }
}

}  // namespace
}  // namespace bitsieve::core
