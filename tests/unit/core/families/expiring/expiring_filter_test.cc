#include "core/families/expiring/expiring_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "core/filter/item_expiry.h"
#include "tests/support/expiring_fixture.h"

namespace bitsieve::core {
namespace {

using testing::Each;
using testing::HasSubstr;

class ExpiringFilterTest : public testing::Test, protected test::ExpiringFixture {
 protected:
  static constexpr int64_t kEpochMs = kTtlMs / 14;

  void Pass(int64_t ms) { clock.now_ms += ms; }
};

TEST_F(ExpiringFilterTest, AnItemIsThereForItsTimeAndGoneAnEpochLater) {
  for (const int64_t offset_ms : {0, 1, 499, 999}) {
    const auto filter = Make(kSurely, 100, 2);
    Pass(offset_ms);
    ASSERT_EQ(AddOne(*filter, 1), AddOutcome::kAdded);
    for (int64_t ms = 0; ms < 14'000; ms += 250, Pass(250)) ASSERT_TRUE(Has(*filter, 1)) << ms;
    ASSERT_TRUE(Has(*filter, 1));
    Pass(kEpochMs);
    EXPECT_FALSE(Has(*filter, 1));
    EXPECT_EQ(LeftMs(*filter, 1), kNoTimeToLive);
  }
}

TEST_F(ExpiringFilterTest, WithEightBitsAnItemIsGoneA250thLater) {
  FilterParams params = Params(kSurely, 100, 2);
  params.own.Set(kEpochBits, 8);
  const auto filter = Make(params);
  ASSERT_EQ(AddOne(*filter, 1), AddOutcome::kAdded);
  Pass(kTtlMs);
  EXPECT_TRUE(Has(*filter, 1));
  Pass(kTtlMs / 250);
  EXPECT_FALSE(Has(*filter, 1));
}

TEST_F(ExpiringFilterTest, AnItemCanHaveAShorterTime) {
  const auto filter = Make(kSurely, 100, 2);
  const auto now_ms = static_cast<uint64_t>(clock.now_ms.load());
  AddOne(*filter, 1, {.ttl_ms = 3000});
  AddOne(*filter, 2, {.until_ms = now_ms + 5000});
  AddOne(*filter, 3, {.ttl_ms = 10 * kTtlMs});             // the filter's own at the latest
  AddOne(*filter, 4, {.until_ms = now_ms + 10 * kTtlMs});  // likewise
  AddOne(*filter, 5, {.until_ms = now_ms - 5000});         // over: until the end of the epoch
  EXPECT_EQ(Found(*filter, 1, 5), 5);
  for (const uint64_t item : {3, 4}) {
    EXPECT_GE(LeftMs(*filter, item), static_cast<int64_t>(kTtlMs));
    EXPECT_LE(LeftMs(*filter, item), static_cast<int64_t>(kTtlMs) + kEpochMs);
  }
  Pass(3000);
  EXPECT_EQ(Found(*filter, 1, 5), 4);
  EXPECT_FALSE(Has(*filter, 5));
  Pass(kEpochMs);
  EXPECT_FALSE(Has(*filter, 1));
  Pass(1000);
  EXPECT_TRUE(Has(*filter, 2));
  Pass(kEpochMs);
  EXPECT_EQ(Found(*filter, 1, 5), 2);
}

TEST_F(ExpiringFilterTest, AddingAnItemAgainRenewsIt) {
  const auto filter = Make(kSurely, 100, 2);
  AddOne(*filter, 1);
  Pass(10'000);
  EXPECT_EQ(AddOne(*filter, 1), AddOutcome::kRenewed);
  EXPECT_GE(LeftMs(*filter, 1), static_cast<int64_t>(kTtlMs));
  EXPECT_EQ(filter->ItemCount(), 1);
  Pass(kTtlMs);
  EXPECT_TRUE(Has(*filter, 1));
  Pass(kEpochMs);
  EXPECT_FALSE(Has(*filter, 1));
}

TEST_F(ExpiringFilterTest, ALaterTimeIsKept) {
  const auto filter = Make(kSurely, 100, 2);
  AddOne(*filter, 1);
  const int64_t left_ms = LeftMs(*filter, 1);
  EXPECT_EQ(AddOne(*filter, 1, {.ttl_ms = 1000}), AddOutcome::kPresent);
  EXPECT_EQ(LeftMs(*filter, 1), left_ms);
}

TEST_F(ExpiringFilterTest, WithoutRenewalAnItemKeepsItsTime) {
  FilterParams params = Params(kSurely, 100, 2);
  SetRenewsItems(params, false);
  const auto filter = Make(params);
  AddOne(*filter, 1);
  Pass(10'000);
  const int64_t left_ms = LeftMs(*filter, 1);
  EXPECT_EQ(AddOne(*filter, 1), AddOutcome::kPresent);
  EXPECT_EQ(LeftMs(*filter, 1), left_ms);
  EXPECT_TRUE(Touch(*filter, 1)) << "a touch renews regardless";
  EXPECT_GE(LeftMs(*filter, 1), static_cast<int64_t>(kTtlMs));
}

TEST_F(ExpiringFilterTest, ATouchRenewsWhatIsThereAndAddsNothing) {
  const auto filter = Make(kSurely, 100, 2);
  AddOne(*filter, 1);
  Pass(kTtlMs - 1);
  EXPECT_TRUE(Touch(*filter, 1));
  EXPECT_FALSE(Touch(*filter, 2));
  EXPECT_FALSE(Has(*filter, 2));
  Pass(kTtlMs);
  EXPECT_TRUE(Has(*filter, 1));
}

TEST_F(ExpiringFilterTest, ARemovedItemIsGoneAtOnce) {
  const auto filter = Make(kSurely, 100, 2);
  AddOne(*filter, 1);
  EXPECT_TRUE(Remove(*filter, 1));
  EXPECT_FALSE(Has(*filter, 1));
  EXPECT_FALSE(Remove(*filter, 1));
  EXPECT_EQ(filter->ItemCount(), 0);
  EXPECT_EQ(AddOne(*filter, 1), AddOutcome::kAdded);
  Pass(kTtlMs + kEpochMs);
  EXPECT_FALSE(Remove(*filter, 1)) << "its time is over";
}

TEST_F(ExpiringFilterTest, AFullFilterThatDoesNotGrowTakesItemsAgainOnceOthersExpired) {
  const auto filter = Make(kSurely, 1000, 0);
  const auto outcomes = Add(*filter, 0, 1500);
  const auto added = std::ranges::count(outcomes, AddOutcome::kAdded);
  EXPECT_GE(added, 1000);
  EXPECT_LE(added, 1072) << "the items of an epoch more";
  EXPECT_EQ(AddOne(*filter, 2000), AddOutcome::kFull);
  EXPECT_EQ(AddOne(*filter, 5), AddOutcome::kPresent) << "what is there needs no room";
  Pass(kTtlMs + kEpochMs);
  EXPECT_THAT(Add(*filter, 3000, 1000), Each(AddOutcome::kAdded));
  EXPECT_EQ(Found(*filter, 3000, 1000), 1000);
}

// A stream at the capacity, for a hundred turnovers.
TEST_F(ExpiringFilterTest, AtConstantLoadItDoesNotGrowAndKeepsTheRate) {
  constexpr uint64_t kCapacity = 14'000, kPerStep = 100;  // a step is a tenth of an epoch
  const auto filter = Make(0.01, kCapacity, 2);
  uint64_t next = 0;
  for (int step = 0; step < 14'000; ++step, next += kPerStep, Pass(kEpochMs / 10)) {
    for (const AddOutcome outcome : Add(*filter, next, kPerStep)) ASSERT_FALSE(IsRefused(outcome));
    if (step % 500 != 0 || next < kCapacity) continue;
    ASSERT_EQ(Found(*filter, next + kPerStep - kCapacity, kCapacity), kCapacity) << "what is within its time";
    ASSERT_LE(filter->ItemCount(), kCapacity + kCapacity / 14 + kPerStep);
  }
  EXPECT_EQ(filter->SubFilters(), 1);
  constexpr uint64_t kProbes = 1'000'000;
  EXPECT_LE(Found(*filter, uint64_t{1} << 40, kProbes), kProbes * 0.0103);
}

TEST_F(ExpiringFilterTest, ABurstGrowsItAndIsGivenBackAfterwards) {
  const auto filter = Make(kSurely, 1000, 2);
  const uint64_t bytes = filter->size_bytes();
  EXPECT_THAT(Add(*filter, 0, 5000), Each(AddOutcome::kAdded));
  EXPECT_EQ(Found(*filter, 0, 5000), 5000);
  EXPECT_GT(filter->SubFilters(), 1);
  const uint64_t used = budget.used_bytes();
  Pass(kTtlMs + kEpochMs);
  AddOne(*filter, 1'000'000);
  EXPECT_EQ(filter->SubFilters(), 1);
  EXPECT_EQ(filter->size_bytes(), bytes);
  EXPECT_LT(budget.used_bytes(), used);
  EXPECT_THAT(Add(*filter, 10'000, 5000), Each(AddOutcome::kAdded)) << "it grows again";
  EXPECT_EQ(Found(*filter, 10'000, 5000), 5000);
}

TEST_F(ExpiringFilterTest, ATableOfWhichAnImageIsReadStays) {
  const auto filter = Make(kSurely, 1000, 2);
  Add(*filter, 0, 5000);
  const uint32_t tables = filter->SubFilters();
  {
    const auto image = filter->Capture();
    Pass(kTtlMs + kEpochMs);
    AddOne(*filter, 1'000'000);
    EXPECT_EQ(filter->SubFilters(), tables);
    std::vector<std::byte> body(image->body_bytes());
    ASSERT_TRUE(image->Read(0, body));
  }
  Pass(kEpochMs);
  AddOne(*filter, 1'000'001);
  EXPECT_EQ(filter->SubFilters(), 1);
}

TEST_F(ExpiringFilterTest, AClockThatGoesBackKeepsItemsLonger) {
  const auto filter = Make(kSurely, 100, 2);
  AddOne(*filter, 1);
  Pass(-10'000);
  EXPECT_TRUE(Has(*filter, 1));
  AddOne(*filter, 2);
  Pass(10'000 + kTtlMs);
  EXPECT_TRUE(Has(*filter, 1));
  EXPECT_TRUE(Has(*filter, 2));
  Pass(kEpochMs);
  EXPECT_EQ(Found(*filter, 1, 2), 0);
}

TEST_F(ExpiringFilterTest, ARestartKeepsEachItemsTime) {
  const auto filter = Make(kSurely, 1000, 2);
  for (uint64_t i = 0; i < 3000; ++i) {
    AddOne(*filter, i, {.ttl_ms = 1 + i * 4});
    if (i % 100 == 0) Pass(37);
  }
  const auto copy = Restart(*filter);
  EXPECT_EQ(copy->params(), filter->params());
  EXPECT_EQ(copy->ItemCount(), filter->ItemCount());
  for (int epoch = 0; epoch < 16; ++epoch, Pass(kEpochMs)) {
    for (uint64_t i = 0; i < 3000; ++i) ASSERT_EQ(LeftMs(*copy, i), LeftMs(*filter, i)) << i << " in " << epoch;
  }
}

TEST_F(ExpiringFilterTest, InfoCountsLiveItemsByEpoch) {
  const auto filter = Make(kSurely, 1000, 2);
  clock.now_ms = 1'700'000'000'000 / kEpochMs * kEpochMs + 400;
  Add(*filter, 0, 10, {.ttl_ms = 100});    // in this epoch
  Add(*filter, 10, 20, {.ttl_ms = 2000});  // in the second after it
  Add(*filter, 30, 30);                    // in the last one
  const FilterInfo info = filter->Info();
  EXPECT_EQ(info.items, 60);
  EXPECT_EQ(info.capacity, 1000);
  ASSERT_EQ(info.expiry.items_by_epoch.size(), 15);
  EXPECT_EQ(info.expiry.items_by_epoch[0], 10);
  EXPECT_EQ(info.expiry.items_by_epoch[2], 20);
  EXPECT_EQ(info.expiry.items_by_epoch[14], 30);
  EXPECT_EQ(info.expiry.epoch_left_ms, 600);
  EXPECT_EQ(info.expiry.next_left_ms, 600);
  Pass(kEpochMs);
  EXPECT_EQ(filter->Info().items, 50);
  EXPECT_EQ(filter->Info().expiry.next_left_ms, 1600);
  EXPECT_EQ(filter->ItemCount(), 50);
  Pass(100 * kEpochMs);
  EXPECT_EQ(filter->Info().items, 0);
  EXPECT_EQ(filter->Info().expiry.next_left_ms, 0);
}

TEST_F(ExpiringFilterTest, BitsPerItemAreThoseOfTheDocumentation) {
  const std::map<double, double> most{{1e-2, 15.8}, {1e-3, 19.2}, {1e-4, 23.7}, {1e-6, 30.5}};
  for (const auto& [rate, bits] : most) {
    FilterParams params = Params(rate, 10'000'000, 0);
    params.first_share = 1;
    const auto filter = Make(params);
    EXPECT_LT(static_cast<double>(filter->size_bytes()) * 8 / 10e6, bits + 0.05) << rate;
    EXPECT_LT(filter->Info().bits_per_item, bits + 0.05) << rate;
  }
}

// Random additions with random times, renewals, removals, lookups and restarts against a model of exact times.
TEST_F(ExpiringFilterTest, DoesWhatAModelDoes) {
  std::mt19937_64 random(7);
  for (const uint32_t bits : {4U, 8U}) {
    FilterParams params = Params(kSurely, 300, 2);
    params.own.Set(kEpochBits, bits);
    auto filter = Make(params);
    const auto epoch_ms = static_cast<int64_t>(EpochsOf(params).ttl_ms() / EpochsOf(params).per_ttl()) + 1;
    std::map<uint64_t, int64_t> until_ms;  // of each item, as it was promised
    for (int step = 0; step < 60'000; ++step) {
      const uint64_t item = random() % 2000;
      const auto found = until_ms.find(item);
      const int64_t now_ms = clock.now_ms;
      const bool promised = found != until_ms.end() && found->second >= now_ms;
      const bool may_be_there = found != until_ms.end() && found->second + epoch_ms >= now_ms;
      const auto is_right = [&](bool there) { return there ? may_be_there : !promised; };
      const uint64_t what = random() % 100;
      if (what < 50) {
        const uint64_t ttl_ms = 1 + random() % kTtlMs;
        const AddOutcome outcome = AddOne(*filter, item, {.ttl_ms = ttl_ms});
        ASSERT_FALSE(IsRefused(outcome));
        ASSERT_TRUE(is_right(outcome != AddOutcome::kAdded));
        int64_t& until = until_ms[item];
        until = std::max(until, now_ms + static_cast<int64_t>(ttl_ms));
      } else if (what < 60) {
        ASSERT_TRUE(is_right(Remove(*filter, item)));
        until_ms.erase(item);
      } else if (what < 65) {
        const bool touched = Touch(*filter, item);
        ASSERT_TRUE(is_right(touched));
        if (touched) until_ms[item] = std::max(until_ms[item], now_ms + static_cast<int64_t>(kTtlMs));
      } else if (what < 95) {
        ASSERT_TRUE(is_right(Has(*filter, item)));
      } else if (what == 99 && step % 7 == 0) {
        filter = Restart(*filter);
      } else {
        Pass(static_cast<int64_t>(random() % 100));
      }
    }
  }
}

// Under the race detector this also shows that nothing is read while it is freed.
TEST_F(ExpiringFilterTest, NothingWithinItsTimeIsMissedWhileItGrowsAndShrinks) {
  const auto filter = Make(0.01, 500, 2);
  constexpr size_t kSteady = 200;
  Add(*filter, 0, kSteady);
  std::atomic<bool> ended{false};
  std::atomic<uint64_t> missed{0}, lookups{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!ended) {
        missed += kSteady - Found(*filter, 0, kSteady);
        lookups += kSteady;
        std::vector<int64_t> left_ms(kSteady);
        filter->TimeToLive(Hashes(*filter, 0, kSteady), left_ms);
        missed += static_cast<uint64_t>(std::ranges::count(left_ms, kNoTimeToLive));
      }
    });
  }
  uint64_t next = 1000;
  for (int round = 0; round < 60 || lookups == 0; ++round) {
    for (int i = 0; i < 20; ++i, next += 100) {
      Add(*filter, 0, kSteady);  // renewed
      Add(*filter, next, 100);
      if (i % 10 == 0) Pass(kEpochMs);
    }
    for (int i = 0; i < 15; ++i) {
      Pass(kEpochMs);
      Add(*filter, 0, kSteady);
    }
    EXPECT_EQ(filter->SubFilters(), 1) << "the burst is over";
  }
  ended = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace bitsieve::core
