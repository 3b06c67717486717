#include "cli/plan/plan_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/cli/plan/plan_for.h"

namespace bitsieve::cli {
namespace {

TEST(PlanReport, TextEndsWithTheLineToPaste) {
  const std::string text = TextOf(PlanFor({.items = 1'000'000, .error_rate = 0.01}), std::nullopt);
  EXPECT_TRUE(text.starts_with("1,000,000 items at an error rate of 1%\n")) << text;
  EXPECT_TRUE(text.ends_with("\nBF.RESERVE key 0.01 1000000 TYPE blocked\n")) << text;
  EXPECT_NE(text.find("hash functions"), std::string::npos);
}

TEST(PlanReport, TextOfOtherTypes) {
  const Plan cuckoo = PlanFor({.items = 1'000'000, .error_rate = 0.01, .removes = true});
  EXPECT_NE(TextOf(cuckoo, std::nullopt).find("fingerprint bits"), std::string::npos);
  const Plan ribbon = PlanFor({.items = 1'000'000, .error_rate = 0.01, .is_static = true});
  EXPECT_NE(TextOf(ribbon, std::nullopt).find("BF.FREEZE key"), std::string::npos);
}

TEST(PlanReport, NoLineEndsWithASpace) {
  for (const bool removes : {false, true}) {
    const Plan plan = PlanFor({.items = 1'000'000, .error_rate = 0.01, .removes = removes});
    EXPECT_EQ(TextOf(plan, Sample{.file = "urls", .lines = 7, .distinct = 5}).find(" \n"), std::string::npos);
  }
}

TEST(PlanReport, JsonHasTheFiguresOfThePlan) {
  const Plan plan = PlanFor({.items = 1'000'000, .memory_bytes = 2 << 20});
  const auto json = nlohmann::json::parse(JsonOf(plan, Sample{.file = "urls\xff", .lines = 7, .distinct = 5}));
  EXPECT_EQ(json["type"], "blocked");
  EXPECT_EQ(json["reserve"], plan.best.reserve);
  EXPECT_EQ(json["memory_bytes"], plan.full.size_bytes);
  EXPECT_EQ(json["need"]["error_rate"], plan.need.error_rate);
  EXPECT_EQ(json["half"]["items"], 500'000);
  EXPECT_EQ(json["twice"]["sub_filters"], 2);
  EXPECT_EQ(json["types"].size(), plan.possible.size());
  EXPECT_EQ(json["sample"]["lines"], 7);
  EXPECT_TRUE(json["need"]["window"].is_null());
}

}  // namespace
}  // namespace bitsieve::cli
