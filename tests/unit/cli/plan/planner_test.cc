#include "cli/plan/planner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/filter/filter_factory.h"
#include "tests/unit/cli/plan/plan_for.h"

namespace bitsieve::cli {
namespace {

std::string ErrorOf(const Need& need) {
  const auto plan = MakePlan(need);
  return plan ? "" : plan.error();
}

TEST(Planner, ChoosesTheTypeByTheNeed) {
  EXPECT_EQ(PlanFor({.items = 1'000'000, .error_rate = 0.01}).best.type->name, "blocked");
  EXPECT_EQ(PlanFor({.items = 1'000'000, .error_rate = 0.01, .removes = true}).best.type->name, "cuckoo");
  EXPECT_EQ(PlanFor({.items = 1'000'000, .error_rate = 0.01, .is_static = true}).best.type->name, "ribbon");
  const core::WindowSpan day{.duration_ms = 86'400'000};
  EXPECT_EQ(PlanFor({.items = 1'000'000, .error_rate = 0.01, .window = day}).best.type->name, "window");
  EXPECT_EQ(PlanFor({.items = 1'000'000, .error_rate = 0.01, .ttl_ms = 1000}).best.type->name, "expiring");
  EXPECT_EQ(PlanFor({.items = 1000, .error_rate = 0.01, .type = "classic"}).best.type->name, "classic");
  // Fingerprints have no room for so small a rate.
  EXPECT_EQ(PlanFor({.items = 1000, .error_rate = 1e-9, .removes = true}).best.type->name, "counting");
}

TEST(Planner, EveryPossibleTypeTakesTheMemoryThatIsPlanned) {
  const core::WindowSpan day{.duration_ms = 86'400'000};
  for (Need need : {Need{.is_static = true}, Need{.stays_fixed = true}, Need{.removes = true}, Need{.window = day},
                    Need{.ttl_ms = 1000}}) {
    need.items = 300'000;
    need.error_rate = 0.002;
    const Plan plan = PlanFor(need);
    for (const Candidate& each : plan.possible) {
      core::MemoryBudget budget;
      const auto filter = core::MakeFilter(each.params, budget, core::SystemClock());
      ASSERT_TRUE(filter) << filter.error().message;
      if (each.type->can.freeze) continue;  // tests/contract has what is frozen
      EXPECT_EQ((*filter)->Info().size_bytes, each.full.size_bytes) << each.reserve;
      EXPECT_EQ((*filter)->Info().hash_functions, each.full.hash_functions) << each.reserve;
    }
  }
}

TEST(Planner, TheRateIsKeptWhenFullAndBeyond) {
  for (const double rate : {0.1, 0.01, 0.001, 1e-5, 1e-7}) {
    const Plan plan = PlanFor({.items = 50'000'000, .error_rate = rate});
    EXPECT_LT(plan.half.error_rate, plan.full.error_rate);
    EXPECT_LT(plan.full.error_rate, rate * 1.02);
    EXPECT_LT(plan.twice.error_rate, rate * 1.02);
    EXPECT_EQ(plan.twice.items, 100'000'000U);
    EXPECT_GT(plan.twice.sub_filters, plan.full.sub_filters);
  }
}

// A type that does not keep it is planned if it is named, or if nothing grows.
TEST(Planner, EachTypeThatSuitsKeepsTheRateWhenItGrows) {
  const auto has_valkeys = [](const Plan& plan) {
    return std::ranges::any_of(plan.possible, [](const Candidate& each) { return each.type->name == "valkeybloom"; });
  };
  const Plan plan = PlanFor({.items = 10'000, .error_rate = 0.01});
  for (const Candidate& each : plan.possible) {
    EXPECT_LT(core::ForecastOf(each.params, 40'000)->error_rate, 0.0102) << each.type->name;
  }
  EXPECT_FALSE(has_valkeys(plan));
  EXPECT_TRUE(has_valkeys(PlanFor({.items = 10'000, .error_rate = 0.01, .stays_fixed = true})));
  EXPECT_TRUE(has_valkeys(PlanFor({.items = 10'000, .error_rate = 0.01, .type = "valkeybloom"})));
}

TEST(Planner, WithoutGrowthTheRoomEnds) {
  const Plan plan = PlanFor({.items = 1'000'000, .error_rate = 0.01, .stays_fixed = true});
  EXPECT_EQ(plan.twice.items, 1'000'000U);
  EXPECT_EQ(plan.twice.size_bytes, plan.full.size_bytes);
  EXPECT_NE(plan.best.reserve.find("NONSCALING"), std::string::npos);
}

TEST(Planner, GrowingCostsMoreThanReserving) {
  const Plan plan = PlanFor({.items = 10'000'000, .error_rate = 0.01});
  ASSERT_TRUE(plan.grown);
  EXPECT_GT(plan.grown->size_bytes, plan.full.size_bytes);
  EXPECT_GT(plan.grown->sub_filters, 10U);
}

TEST(Planner, SolvesForTheRate) {
  constexpr uint64_t kMemory = 64 << 20;
  for (const bool removes : {false, true}) {
    const Plan plan = PlanFor({.items = 20'000'000, .memory_bytes = kMemory, .removes = removes});
    EXPECT_LE(plan.full.size_bytes, kMemory);
    // A little less would not fit, or need the next bit of fingerprints.
    const auto less = MakePlan({.items = 20'000'000, .error_rate = plan.need.error_rate * 0.98, .removes = removes});
    ASSERT_TRUE(less);
    EXPECT_GT(less->full.size_bytes, kMemory);
  }
}

TEST(Planner, SolvesForTheItems) {
  constexpr uint64_t kMemory = 64 << 20;
  for (const bool is_static : {false, true}) {
    Need need{.error_rate = 0.001, .memory_bytes = kMemory, .is_static = is_static};
    const Plan plan = PlanFor(need);
    EXPECT_LE(plan.full.size_bytes, kMemory);
    EXPECT_GT(plan.full.size_bytes, kMemory * 0.999);
    need = {.items = plan.need.items + plan.need.items / 1000, .error_rate = 0.001, .is_static = is_static};
    EXPECT_GT(PlanFor(need).full.size_bytes, kMemory);
  }
}

TEST(Planner, MoreItemsThanOneSubFilterTakes) {
  const Plan plan = PlanFor({.items = 5'000'000'000, .error_rate = 0.01});
  EXPECT_EQ(plan.full.items, 5'000'000'000U);
  EXPECT_GT(plan.full.sub_filters, 1U);
  EXPECT_NE(plan.best.reserve.find(" 1073741824 "), std::string::npos);
}

TEST(Planner, MoreItemsThanTheSmallestTypeTakes) {
  const Plan plan = PlanFor({.items = 5'000'000'000, .error_rate = 0.01, .is_static = true});
  EXPECT_EQ(plan.best.type->name, "blocked");
}

TEST(Planner, SolvesForMoreItemsThanOneSubFilterTakes) {
  const Plan plan = PlanFor({.error_rate = 0.01, .memory_bytes = uint64_t{300} << 30});
  EXPECT_GT(plan.need.items, 10'000'000'000U);
  EXPECT_LE(plan.full.size_bytes, uint64_t{300} << 30);
}

TEST(Planner, ErrorsSayWhatIsPossible) {
  EXPECT_EQ(ErrorOf({.items = 1'000'000, .memory_bytes = 1000}),
            "1000 bytes do not hold 1,000,000 items at any error rate; at 0.25, the highest, they need 453 KB");
  EXPECT_TRUE(ErrorOf({.error_rate = 0.01, .memory_bytes = 10})
                  .starts_with("10 bytes do not hold a filter of one item; it needs "));
  EXPECT_EQ(ErrorOf({.items = 10, .error_rate = 0.01, .removes = true, .type = "blocked"}),
            "\"blocked\" is not a suitable filter type; counting, cuckoo are");
  EXPECT_EQ(ErrorOf({.items = 10, .error_rate = 0.01, .type = "bloom"}),
            "\"bloom\" is not a suitable filter type; blocked, classic, counting, cuckoo, fingerprint, redisbloom, "
            "valkeybloom are");
  EXPECT_EQ(ErrorOf({.items = 10, .error_rate = 0.01, .removes = true, .window = core::WindowSpan{.items = 10}}),
            "a filter that forgets cannot remove items as well");
  EXPECT_EQ(ErrorOf({.items = 5'000'000'000, .error_rate = 0.01, .stays_fixed = true}),
            "a blocked filter such as this takes at most 1073741824 items");
}

}  // namespace
}  // namespace bitsieve::cli
