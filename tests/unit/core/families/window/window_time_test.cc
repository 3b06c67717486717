// Windows of time, under a clock turned by hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tests/support/window_fixture.h"

namespace bitsieve::core {
namespace {

using enum AddOutcome;

class WindowOfTime : public testing::Test, protected test::WindowFixture {
 protected:
  void Pass(uint64_t ms) { clock.now_ms += ms; }
};

TEST_F(WindowOfTime, AnItemIsFoundForTheWholeWindowAndForgottenAThirdLater) {
  const auto filter = OfTime(kSurely, 100, 3000);
  EXPECT_EQ(AddOne(*filter, 1), kAdded);
  Pass(3000);
  EXPECT_EQ(Found(*filter, 1, 1), 1U);
  Pass(1);
  EXPECT_EQ(Found(*filter, 1, 1), 0U);  // nothing came after it: forgotten to the millisecond
  EXPECT_EQ(filter->ItemCount(), 0U);
  EXPECT_EQ(AddOne(*filter, 1), kAdded);
}

TEST_F(WindowOfTime, OnlyAWindowOfTimeAges) {
  EXPECT_TRUE(OfTime(kSurely, 100, 3000)->ages());
  EXPECT_FALSE(OfItems(kSurely, 100)->ages());
}

TEST_F(WindowOfTime, SeenAgainCountsFromTheLastTime) {
  const auto filter = OfTime(kSurely, 100, 3000);
  AddOne(*filter, 1);
  for (int i = 0; i < 50; ++i) {
    Pass(2900);
    ASSERT_EQ(AddOne(*filter, 1), kPresent) << i;
  }
}

// Streams with idle gaps, bursts and items that come back, against a model that knows when each was last seen.
TEST_F(WindowOfTime, KeepsItsPromiseOverARandomStream) {
  constexpr uint64_t kWindowMs = 1000;
  constexpr uint64_t kLongest = kWindowMs + kWindowMs / 3 + 2;
  const auto filter = OfTime(kSurely, 900, kWindowMs);
  std::map<uint64_t, uint64_t> last_seen;
  uint64_t state = 99;
  const auto random = [&](uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  for (uint64_t i = 0; i < 6000; ++i) {
    const uint64_t dice = random(1000);
    Pass(dice < 3 ? random(5000) : dice < 500 ? random(6) : 1);
    const uint64_t item = dice % 4 == 0 ? random(500) : 1000 + i;
    const uint64_t now = clock.now_ms;
    const bool known = Found(*filter, item, 1) == 1;
    ASSERT_EQ(AddOne(*filter, item), known ? kPresent : kAdded);
    last_seen[item] = now;
    if (i % 7 != 0) continue;
    for (const auto& [each, seen] : last_seen) {
      if (now - seen <= kWindowMs) {
        ASSERT_EQ(Found(*filter, each, 1), 1U) << "forgotten after " << now - seen;
      } else if (now - seen > kLongest) {
        ASSERT_EQ(Found(*filter, each, 1), 0U) << "remembered after " << now - seen;
      }
    }
  }
}

TEST_F(WindowOfTime, AnIdleGapLeavesNothingAndNeedsNoMemory) {
  const auto filter = OfTime(kSurely, 100, 1000);
  for (uint64_t i = 0; i < 100; ++i) {
    AddOne(*filter, i);
    Pass(10);
  }
  const uint64_t used = budget.used_bytes();
  Pass(100'000);
  EXPECT_EQ(Found(*filter, 0, 100), 0U);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(AddOne(*filter, i), kAdded);
    Pass(10);
  }
  EXPECT_EQ(budget.used_bytes(), used);
}

TEST_F(WindowOfTime, TheStatedLoadNeedsNoFurtherMemory) {
  const auto filter = OfTime(0.01, 3000, 3000);
  const uint64_t used = budget.used_bytes();
  for (uint64_t i = 0; i < 30'000; ++i) {
    ASSERT_LE(AddOne(*filter, i), kAdded);
    Pass(1);
  }
  EXPECT_EQ(budget.used_bytes(), used);
  EXPECT_GE(filter->Info().window.generations, 3U);
}

// The capacity, however it is spread: slowly first, so that generations are given up half empty, then all at once.
TEST_F(WindowOfTime, TakesItsCapacityHoweverItIsSpreadWithinTheWindow) {
  constexpr uint64_t kCapacity = 600;
  for (uint64_t slow = 0; slow < 40; ++slow) {
    const auto filter = OfTime(kSurely, kCapacity, 3000);
    for (uint64_t i = 0; i < slow; ++i) {
      ASSERT_EQ(AddOne(*filter, i), kAdded);
      Pass(3000 / std::max<uint64_t>(slow, 1));
    }
    const auto outcomes = Add(*filter, 1000, kCapacity - slow);
    EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kAdded), static_cast<int64_t>(kCapacity - slow)) << slow;
  }
}

TEST_F(WindowOfTime, ABurstBeyondAllGenerationsIsRefusedAndNothingIsForgottenEarly) {
  const auto filter = OfTime(kSurely, 300, 3000);
  const auto outcomes = Add(*filter, 0, 1000);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kAdded), 600);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kWindowFull), 400);
  EXPECT_EQ(Found(*filter, 0, 600), 600U);
  EXPECT_EQ(AddOne(*filter, 599), kPresent);   // of the current generation
  EXPECT_EQ(AddOne(*filter, 0), kWindowFull);  // its time could not be counted from now on
  EXPECT_EQ(filter->Info().window.generations, 6U);
  Pass(3000);
  EXPECT_EQ(Found(*filter, 0, 600), 600U);
  Pass(1);
  EXPECT_EQ(AddOne(*filter, 2000), kAdded);
  EXPECT_EQ(budget.used_bytes(), filter->Info().size_bytes);
}

TEST_F(WindowOfTime, AMemoryLimitRefusesTheBurstAlone) {
  const auto filter = OfTime(kSurely, 300, 3000);
  budget.set_limit_bytes(budget.used_bytes());
  const auto outcomes = Add(*filter, 0, 500);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kAdded), 400);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kOutOfMemory), 100);
  EXPECT_EQ(Found(*filter, 0, 400), 400U);
}

TEST_F(WindowOfTime, AClockThatGoesBackNeverForgetsEarly) {
  const auto filter = OfTime(kSurely, 100, 3000);
  AddOne(*filter, 1);
  Pass(1000);
  AddOne(*filter, 2);
  clock.now_ms -= 3'600'000;
  EXPECT_EQ(Found(*filter, 1, 2), 2U);
  AddOne(*filter, 3);
  Pass(3'600'000 - 1);
  EXPECT_EQ(Found(*filter, 1, 3), 3U);
  Pass(3001);  // 3000 ms beyond the latest time that the filter knew
  EXPECT_EQ(Found(*filter, 2, 2), 2U);
  Pass(1);
  EXPECT_EQ(Found(*filter, 1, 3), 0U);
}

TEST_F(WindowOfTime, ARestartKeepsAges) {
  auto filter = OfTime(kSurely, 300, 3000);
  for (uint64_t i = 0; i < 30; ++i) {
    AddOne(*filter, i);
    Pass(100);
  }
  filter = Restart(*filter);
  EXPECT_EQ(WindowOf(filter->params()).duration_ms, 3000U);
  EXPECT_EQ(filter->Info().window.oldest_age_ms, 3000U);
  EXPECT_EQ(Found(*filter, 0, 30), 30U);
  Pass(1500);  // the time of being down counts
  filter = Restart(*filter);
  EXPECT_EQ(Found(*filter, 15, 15), 15U);
  EXPECT_EQ(Found(*filter, 0, 5), 0U);
  EXPECT_EQ(AddOne(*filter, 0), kAdded);
  clock.now_ms -= 1'000'000;  // and a clock that was set back before the restart shortens nothing
  filter = Restart(*filter);
  EXPECT_EQ(Found(*filter, 15, 15), 15U);
}

TEST_F(WindowOfTime, SightingsAreChangesToBeSaved) {
  const auto filter = OfTime(kSurely, 300, 3000);
  AddOne(*filter, 1);
  const uint64_t changes = filter->ChangeCount();
  EXPECT_EQ(AddOne(*filter, 1), kPresent);
  EXPECT_EQ(filter->ChangeCount(), changes);
  Pass(10);
  EXPECT_EQ(AddOne(*filter, 1), kPresent);
  EXPECT_GT(filter->ChangeCount(), changes);
}

TEST_F(WindowOfTime, LittleLoadForgetsInTimeToo) {
  const auto filter = OfTime(kSurely, 1'000'000, 3000);  // made for far more than what comes
  for (uint64_t i = 0; i < 100; ++i) {
    AddOne(*filter, i);
    if (i >= 6) {
      ASSERT_EQ(Found(*filter, i - 3, 4), 4U);
      ASSERT_EQ(Found(*filter, 0, i - 5), 0U) << i;
    }
    Pass(900);
  }
}

TEST(FilterClock, TellsTheTimeOfDayOrThatOfTheReplayedChange) {
  FilterClock clock;
  const auto is_now = [&] { return std::abs(clock.WallMs() - SystemClock().WallMs()) < 10'000; };
  EXPECT_TRUE(is_now());
  clock.Replay(1'000);
  EXPECT_EQ(clock.WallMs(), 1'000);
  clock.Replay(0);
  EXPECT_TRUE(is_now());
  const int64_t before = clock.MonotonicMs();
  EXPECT_GE(SystemClock().MonotonicMs(), before) << "one clock for all";
}

}  // namespace
}  // namespace bitsieve::core
