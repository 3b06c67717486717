#include "server/http/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class HistoryTest : public ::testing::Test, protected test::CommandFixture {
 protected:
  HistoryTest() { environment_.clock = &clock; }
  static double Value(const History::Point& point, std::string_view field) {
    const auto fields = History::Fields();
    const auto found = std::ranges::find(fields, field);
    EXPECT_NE(found, fields.end()) << field;
    return point.values.at(static_cast<size_t>(found - fields.begin()));
  }
  CommandCounters& PingCounters() {
    return stats.loops.front().by_command[AllCommands().IndexOf(*AllCommands().Find("ping"))];
  }

  Environment environment_ = EnvironmentWith(nullptr);
  History history_;
};

TEST_F(HistoryTest, APointHasAValueForEachFieldAndItsTime) {
  stats.loops.front().items_added = 7;
  history_.Take(environment_);
  const std::vector<History::Point> points = history_.After(0);
  ASSERT_THAT(points, SizeIs(1));
  EXPECT_EQ(points[0].number, 1U);
  EXPECT_EQ(points[0].unix_ms, clock.now_ms);
  EXPECT_EQ(points[0].values.size(), History::Fields().size());
  EXPECT_EQ(Value(points[0], "items_added"), 7);
  EXPECT_EQ(Value(points[0], "latency_median_seconds"), 0) << "no command ran";
}

TEST_F(HistoryTest, ShowsThePointsAfterANumberOldestFirst) {
  for (int i = 0; i < 5; ++i) history_.Take(environment_);
  const std::vector<History::Point> points = history_.After(3);
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].number, 4U);
  EXPECT_EQ(points[1].number, 5U);
  EXPECT_THAT(history_.After(5), IsEmpty());
  EXPECT_THAT(history_.After(UINT64_MAX), IsEmpty());
}

TEST_F(HistoryTest, KeepsThePointsOfAnHour) {
  for (size_t i = 0; i < History::kPoints + 3; ++i) history_.Take(environment_);
  const std::vector<History::Point> points = history_.After(0);
  ASSERT_THAT(points, SizeIs(History::kPoints));
  EXPECT_EQ(points.front().number, 4U) << "numbers are never used again";
}

TEST_F(HistoryTest, LatenciesAreOfTheIntervalBeforeThePoint) {
  PingCounters().AddCalls(100, 100 * 1'500);
  history_.Take(environment_);
  PingCounters().AddCalls(100, 100 * 150'000);
  history_.Take(environment_);
  history_.Take(environment_);
  PingCounters().Reset();  // the counters are smaller than before
  history_.Take(environment_);
  const std::vector<History::Point> points = history_.After(0);
  ASSERT_THAT(points, SizeIs(4));
  EXPECT_LT(Value(points[0], "latency_median_seconds"), 1e-5);
  EXPECT_GT(Value(points[1], "latency_median_seconds"), 1e-4);
  EXPECT_EQ(Value(points[2], "latency_median_seconds"), 0);
  EXPECT_EQ(Value(points[3], "latency_99th_seconds"), 0);
}

}  // namespace
}  // namespace bitsieve::server
