#include "cli/plan/plan_plot.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/cli/plan/plan_for.h"

namespace bitsieve::cli {
namespace {

TEST(PlanPlot, TheRateRisesToWhatThePlanSays) {
  const Plan plan = PlanFor({.items = 1'000'000, .error_rate = 0.01});
  const Curve curve = RateByItems(plan);
  ASSERT_EQ(curve.points.size(), 201U);
  for (size_t i = 1; i < curve.points.size(); ++i) {
    EXPECT_GE(curve.points[i].y, curve.points[i - 1].y - 1e-11) << i;  // which the sums of the core are exact to
  }
  EXPECT_EQ(curve.points[0].y, 0);
  EXPECT_EQ(curve.points[50].y, plan.half.error_rate);
  EXPECT_EQ(curve.points[100].y, plan.full.error_rate);
  EXPECT_EQ(curve.points[200].y, plan.twice.error_rate);
}

TEST(PlanPlot, TheCurveEndsWhereTheFilterIsFull) {
  const Plan plan = PlanFor({.items = 1'000'000, .error_rate = 0.01, .stays_fixed = true});
  EXPECT_EQ(RateByItems(plan).points.back().x, 1);
}

TEST(PlanPlot, AFilterThatIsThereIsDrawnIn) {
  Plan plan = PlanFor({.items = 1'000'000, .error_rate = 0.01});
  const std::string svg = SvgOf(plan), text = TerminalPlotOf(plan);
  EXPECT_EQ(svg.find(">now<"), std::string::npos);
  EXPECT_EQ(text.find('@'), std::string::npos);
  // Also one that would lie outside of the plots.
  for (const uint64_t items : {uint64_t{0}, uint64_t{500'000}, uint64_t{100'000'000}}) {
    for (const double rate : {0.0, 0.002, 0.9}) {
      plan.present = PresentFilter{.name = "seen",
                                   .type = "blocked",
                                   .items = items,
                                   .capacity = 1000,
                                   .size_bytes = 20'000,
                                   .requested_error_rate = rate,
                                   .estimated_error_rate = rate};
      const std::string with = SvgOf(plan);
      EXPECT_NE(with.find(">now<"), std::string::npos);
      EXPECT_EQ(with.find("nan"), std::string::npos);
      EXPECT_EQ(std::ranges::count(TerminalPlotOf(plan), '@'), 2);  // one of them in the title
    }
  }
}

TEST(PlanPlot, EveryTypeTakesMoreForSmallerRates) {
  const std::vector<Curve> curves = BitsByRate({.items = 1'000'000, .error_rate = 0.01, .is_static = true});
  EXPECT_EQ(curves.size(), 7U);
  for (const Curve& curve : curves) {
    ASSERT_GT(curve.points.size(), 50U) << curve.name;
    EXPECT_LT(curve.points.back().x, 1e-6) << curve.name;
    EXPECT_GT(curve.points.back().y, 2 * curve.points.front().y) << curve.name;
  }
}

TEST(PlanPlot, SvgHasBothChartsWithinItsBorders) {
  const std::string svg = SvgOf(PlanFor({.items = 1'000'000, .error_rate = 0.01}));
  EXPECT_TRUE(svg.starts_with("<svg xmlns=")) << svg.substr(0, 100);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  for (const char* word : {"Error rate of blocked as it fills", "Memory for 1,000,000 items", ">requested<", ">cuckoo<",
                           ">planned<", "<circle"}) {
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(PlanPlot, TerminalPlotFitsIntoATerminal) {
  for (const double rate : {0.25, 0.01, 1e-7}) {
    const std::string text = TerminalPlotOf(PlanFor({.items = 50'000, .error_rate = rate}));
    size_t longest = 0;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      longest = std::max(longest, end - begin);
      begin = end + 1;
    }
    EXPECT_LE(longest, 79U) << text;
    EXPECT_GT(std::ranges::count(text, '*'), 20) << text;
    EXPECT_EQ(text.find(" \n"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace bitsieve::cli
