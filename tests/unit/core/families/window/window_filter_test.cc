#include "core/families/window/window_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/families/window/window_type.h"
#include "tests/support/slowdown.h"
#include "tests/support/window_fixture.h"

namespace bitsieve::core {
namespace {

using test::kSlowdown;
using enum AddOutcome;

class WindowOfItems : public testing::Test, protected test::WindowFixture {
 protected:
  // The most that may still be remembered.
  static uint64_t Longest(uint64_t items) { return (items + kGenerations - 1) / kGenerations * (kGenerations + 1); }
};

TEST_F(WindowOfItems, AfterEveryAddTheLastAreFoundAndOlderOnesForgotten) {
  for (const uint64_t window : {1, 2, 3, 4, 5, 7, 10, 64, 100, 999}) {
    const auto filter = OfItems(kSurely, window);
    for (uint64_t i = 0; i < 5 * window + 50; ++i) {
      ASSERT_EQ(AddOne(*filter, i), kAdded) << window << " at " << i;
      const uint64_t inside = std::min(window, i + 1);
      ASSERT_EQ(Found(*filter, i + 1 - inside, inside), inside) << window << " at " << i;
      if (i > Longest(window)) {
        ASSERT_EQ(Found(*filter, 0, i - Longest(window)), 0U) << window << " at " << i;
      }
    }
  }
}

TEST_F(WindowOfItems, ALargeOneFindsItsWholeWindowAlongItsWay) {
  constexpr uint64_t kWindow = 200'000 / kSlowdown;
  for (const double rate : {0.01, 1e-4}) {  // one line per item, and two
    const auto filter = OfItems(rate, kWindow);
    constexpr uint64_t kStep = 7'001 / kSlowdown;
    for (uint64_t i = 0; i < 5 * kWindow; i += kStep) {
      Add(*filter, i, kStep);
      const uint64_t end = i + kStep;
      const uint64_t inside = std::min(kWindow, end);
      ASSERT_EQ(Found(*filter, end - inside, inside), inside) << i;
    }
    const uint64_t old = 3 * kWindow;
    EXPECT_LE(Found(*filter, 0, old), static_cast<uint64_t>(1.2 * rate * static_cast<double>(old)) + 10);
  }
}

TEST_F(WindowOfItems, TheAskedRateIsKeptWhenAllGenerationsAreFull) {
  for (const uint64_t window : {10'000U, 300'000U}) {
    for (const double rate : {0.1, 0.01, 1e-3, 1e-4}) {
      const auto filter = OfItems(rate, window);
      // To the last item before the turn after several turns.
      for (uint64_t next = 0; filter->ItemCount() != Longest(window);) {
        const uint64_t count = 1 + (Longest(window) - filter->ItemCount()) / 2;
        Add(*filter, next, count);
        next += count;
      }
      EXPECT_EQ(filter->Info().window.generations, kGenerations + 1);
      const uint64_t probes = 4'000'000 / kSlowdown;
      const double expected = rate * static_cast<double>(probes);
      const auto wrong = static_cast<double>(Found(*filter, kAbsent, probes));
      EXPECT_LE(wrong, 1.02 * expected + 4 * std::sqrt(expected) + 1) << window << " at " << rate;
      const FilterInfo info = filter->Info();
      EXPECT_NEAR(filter->EstimatedErrorRate().value() / rate, 1, 0.1);
      std::printf("  window of %llu items at %g: %.3f times the asked rate, %.2f bits an item\n",
                  static_cast<unsigned long long>(window), rate, wrong / expected,
                  8.0 * static_cast<double>(info.size_bytes) / static_cast<double>(window));
    }
  }
}

TEST_F(WindowOfItems, SeenAgainCountsFromTheLastTime) {
  constexpr uint64_t kWindow = 300;
  const auto filter = OfItems(kSurely, kWindow);
  EXPECT_EQ(AddOne(*filter, 7'000'000), kAdded);
  for (uint64_t round = 0; round < 20; ++round) {
    Add(*filter, round * kWindow, kWindow - 1);
    ASSERT_EQ(Found(*filter, 7'000'000, 1), 1U);
    ASSERT_EQ(AddOne(*filter, 7'000'000), kPresent) << round;
  }
  Add(*filter, 1'000'000, 2 * kWindow);
  EXPECT_EQ(AddOne(*filter, 7'000'000), kAdded);  // and when it was forgotten, it is new again
}

// Whatever comes, and however often: what was among the last n adds is known.
TEST_F(WindowOfItems, TheLastAddsOfAnyStreamAreFound) {
  constexpr uint64_t kWindow = 100;
  const auto filter = OfItems(kSurely, kWindow);
  std::vector<uint64_t> stream;
  uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const uint64_t range = i % 5000 < 2500 ? 60 : 150;  // more than a generation takes, and less
    stream.push_back(state >> 33 & 1 ? (state >> 40) % range : 1000 + static_cast<uint64_t>(i));
    AddOne(*filter, stream.back());
    for (size_t back = 0; back < std::min<size_t>(kWindow, stream.size()); ++back) {
      ASSERT_EQ(Found(*filter, stream[stream.size() - 1 - back], 1), 1U) << i;
    }
  }
}

TEST_F(WindowOfItems, ABatchLargerThanTheWindowTurnsWithinIt) {
  const auto filter = OfItems(kSurely, 10);
  const auto outcomes = Add(*filter, 0, 1000);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kAdded), 1000);
  EXPECT_EQ(Found(*filter, 990, 10), 10U);
  EXPECT_EQ(Found(*filter, 0, 980), 0U);
}

// Returns how many lines of a generation the addition of an item changed.
size_t LinesChangedBy(Generation& generation, const KeyHash& hash) {
  const BitMemory& memory = generation.bits().memory();
  const std::vector<std::byte> before(memory.data(), memory.data() + memory.size_bytes());
  const uint8_t skip = 0;
  uint8_t added = 0;
  generation.Add({&hash, 1}, {&skip, 1}, {&added, 1});
  size_t lines = 0;
  for (size_t at = 0; at < before.size(); at += kLineBytes) {
    lines += std::memcmp(memory.data() + at, before.data() + at, kLineBytes) != 0;
  }
  return lines;
}

TEST_F(WindowOfItems, ForgettingIsSpreadOverTheAdds) {
  for (const uint64_t window : {1'000U, 30'000U / static_cast<unsigned>(kSlowdown)}) {
    for (const double rate : {0.01, 1e-6}) {
      const SubFilterShape shape = WindowShapeFor(Params(rate, window, {.items = window})).sub_filter;
      const auto generation = std::move(*Generation::Make(shape, budget));
      uint64_t item = 0;
      while (!generation->Full()) LinesChangedBy(*generation, HashItem(std::to_string(item++), 1));
      generation->BeginRound();
      size_t worst = 0;
      while (!generation->Full()) {
        worst = std::max(worst, LinesChangedBy(*generation, HashItem(std::to_string(item++), 1)));
      }
      EXPECT_GE(worst, Generation::kSweptGroups) << "something was cleared";
      EXPECT_LE(worst, (Generation::kSweptGroups + 2) * Generation::kGroupLines);
      std::printf("  window of %llu items at %g: at most %zu lines changed in one add\n",
                  static_cast<unsigned long long>(window), rate, worst);
    }
  }
}

TEST_F(WindowOfItems, MemoryIsWithinTwiceAPlainFilter) {
  for (const double rate : {0.01, 1e-3, 1e-4, 1e-6}) {  // at higher rates it is a little more
    FilterParams plain;
    plain.error_rate = rate;
    plain.capacity = 100'000;
    plain.expansion = 0;
    ShareForStatedCapacity(plain);
    const auto bytes = static_cast<double>((*MakeFilter(plain, budget, SystemClock()))->Info().size_bytes);
    for (const auto& filter : {OfItems(rate, 100'000), OfTime(rate, 100'000, 1000)}) {
      const auto window_bytes = static_cast<double>(filter->Info().size_bytes);
      EXPECT_LE(window_bytes, 2 * bytes) << rate;
      std::printf("  %g: %s %.2f bits an item, %.2f times a plain one\n", rate,
                  WindowOf(filter->params()).of_time() ? "time " : "items", window_bytes * 8 / 1e5,
                  window_bytes / bytes);
    }
  }
}

TEST_F(WindowOfItems, BudgetIsExactAndReturned) {
  {
    const auto filter = OfItems(0.01, 1000);
    Add(*filter, 0, 5000);
    EXPECT_EQ(budget.used_bytes(), filter->Info().size_bytes);
    budget.set_limit_bytes(budget.used_bytes());
    EXPECT_FALSE(MakeFilter(Params(0.01, 10, {.items = 10}), budget, clock));
    Add(*filter, 5000, 5000);  // ageing needs no memory
    EXPECT_EQ(Found(*filter, 9000, 1000), 1000U);
  }
  EXPECT_EQ(budget.used_bytes(), 0U);
}

TEST_F(WindowOfItems, InfoTellsWhatIsRemembered) {
  const auto filter = OfItems(0.001, 3000);
  EXPECT_EQ(filter->Info().window.generations, 1U);
  EXPECT_EQ(filter->Info().window.oldest_items, 0U);
  Add(*filter, 0, 2500);
  EXPECT_EQ(filter->Info().window.generations, 3U);
  Add(*filter, 2500, 20'000);
  const FilterInfo info = filter->Info();
  EXPECT_EQ(info.capacity, 3000U);
  EXPECT_EQ(info.items, filter->ItemCount());
  EXPECT_GT(info.items, 3000U);
  EXPECT_LE(info.items, 4000U);
  EXPECT_EQ(info.window.oldest_items, info.items);
  EXPECT_EQ(info.window.generations, 4U);
}

TEST_F(WindowOfItems, ParametersThatContradictAreRefused) {
  const auto refused = [&](FilterParams params) { return !MakeFilter(params, budget, clock).has_value(); };
  FilterParams good = Params(0.01, 10, {.items = 10});
  EXPECT_FALSE(refused(good));
  EXPECT_TRUE(refused(Params(0.01, 11, {.items = 10})));
  EXPECT_TRUE(refused(Params(0.01, 10, {})));
  EXPECT_TRUE(refused(Params(0.01, 10, {.items = 10, .duration_ms = 1000})));
  EXPECT_TRUE(refused(Params(0.01, 10, {.duration_ms = 99})));
  EXPECT_TRUE(refused(Params(0.01, 10, {.duration_ms = kMaxWindowMs + 1})));
  good.expansion = 2;
  good.first_share = 0.5;
  EXPECT_TRUE(refused(good));
  FilterParams other;
  SetWindow(other, {.items = 100});
  EXPECT_TRUE(refused(other));
}

}  // namespace
}  // namespace bitsieve::core
