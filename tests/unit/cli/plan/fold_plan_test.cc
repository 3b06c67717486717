#include "cli/plan/fold_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "cli/plan/plan_report.h"

namespace bitsieve::cli {
namespace {

using testing::HasSubstr;

// The filter, as BF.INFO and BF.DEBUG describe it after BF.RESERVE urls 0.01 1000000.
PresentFilter Urls() {
  return {.name = "urls", .type = "blocked", .items = 3, .capacity = 1'000'000, .size_bytes = 1'313'000};
}
const std::vector<std::string> kDebug{
    "size:3", "bytes:1313280 bits:10506240 hashes:6 hashwidth:64 capacity:1000000 size:3 ratio:0.008"};

TEST(FoldPlanTest, StepsAreTheDivisorsOfTheSize) {
  const FoldPlan plan = MakeFoldPlan(Urls(), kDebug, 100'000).value();
  ASSERT_FALSE(plan.steps.empty());
  uint64_t divisor = 1, capacity = 1'000'000;
  for (const core::FoldStep& step : plan.steps) {
    EXPECT_GT(step.divisor, divisor);
    EXPECT_EQ(10'506'240 / 512 % step.divisor, 0U);
    EXPECT_LT(step.capacity, capacity);
    EXPECT_NEAR(static_cast<double>(step.capacity * step.divisor), 1e6, 2e4);
    EXPECT_EQ(step.size_bytes, 1'313'280 / step.divisor);
    divisor = step.divisor;
    capacity = step.capacity;
  }
  EXPECT_GE(capacity, 100'000U);
  EXPECT_EQ(plan.Command(), "BF.FOLD urls " + std::to_string(capacity));
  EXPECT_THAT(TextOf(plan), HasSubstr(plan.Command()));
  EXPECT_THAT(JsonOf(plan), HasSubstr("\"fold\": \"" + plan.Command() + "\""));
}

TEST(FoldPlanTest, WithoutItemsThereIsRoomForTwiceWhatItHolds) {
  PresentFilter filter = Urls();
  filter.items = 60'000;
  EXPECT_GE(MakeFoldPlan(filter, kDebug, 0).value().steps.back().capacity, 120'000U);
  filter.items = 600'000;
  const FoldPlan none = MakeFoldPlan(filter, kDebug, 0).value();
  EXPECT_TRUE(none.steps.empty());
  EXPECT_EQ(none.Command(), "");
  EXPECT_THAT(TextOf(none), HasSubstr("It cannot be folded to a size that has room for these items."));
}

TEST(FoldPlanTest, NamesThatAreNoWordsStandForThemselves) {
  PresentFilter filter = Urls();
  filter.name = "a b";
  EXPECT_THAT(MakeFoldPlan(filter, kDebug, 1000).value().Command(), HasSubstr("BF.FOLD key "));
}

TEST(FoldPlanTest, SaysWhyItCannotBeFolded) {
  const auto refusal = [](const std::string& type, const std::vector<std::string>& debug) {
    PresentFilter filter = Urls();
    filter.type = type;
    const auto plan = MakeFoldPlan(filter, debug, 0);
    return plan ? "" : plan.error();
  };
  EXPECT_THAT(refusal("cuckoo", kDebug), HasSubstr("a cuckoo filter cannot be folded; types that can: "));
  EXPECT_THAT(refusal("later", kDebug), HasSubstr("its type later is not known here"));
  EXPECT_THAT(refusal("blocked", {"size:1", "bytes:1", "bytes:2"}), HasSubstr("it has grown"));
  EXPECT_THAT(refusal("blocked", {"size:1", "bytes:16 bits:0 hashes:6 capacity:100 size:1 ratio:0"}),
              HasSubstr("still a list of its items"));
  EXPECT_THAT(
      refusal("blocked", {"size:1", "bytes:1313280 bits:10506240 hashes:12 capacity:500000 size:1 ratio:1e-05"}),
      HasSubstr("two lines, which do not fold"));
}

}  // namespace
}  // namespace bitsieve::cli
