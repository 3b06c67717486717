#include "server/metrics/command_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class CommandReportsTest : public testing::Test, protected test::CommandFixture {
 protected:
  using Fields = std::map<std::string, std::string>;

  CommandCounters& CountersOf(std::string_view name, size_t loop = 0) {
    return stats.loops[loop].by_command[AllCommands().IndexOf(*AllCommands().FindFull(name))];
  }
  void AddLoop() { stats.loops.emplace_back().by_command = CommandStats(AllCommands().all_rows().size()); }
  Fields Report(MetricRow::Each each) {
    Fields fields;
    MetricReadings readings(environment_);
    each(readings, [&fields](std::string_view suffix, const std::string& value) {
      EXPECT_TRUE(fields.emplace(suffix, value).second) << suffix;
    });
    return fields;
  }

  const Environment environment_ = EnvironmentWith(nullptr);
};

TEST_F(CommandReportsTest, WhatWasNeverSentIsLeftOut) {
  EXPECT_THAT(Report(EachCommand), IsEmpty());
  EXPECT_THAT(Report(EachErrorCode), IsEmpty());
  EXPECT_THAT(Report(EachLatency), IsEmpty());
}

TEST_F(CommandReportsTest, CallsOfAllLoopsAreAddedUp) {
  AddLoop();
  CountersOf("bf.add", 0).AddCalls(3, 6'000);
  CountersOf("bf.add", 1).AddCalls(1, 3'000);
  CountersOf("bf.add", 1).failed = 2;
  EXPECT_THAT(Report(EachCommand),
              ElementsAre(Pair("bf.add", "calls=4,usec=9,usec_per_call=2.25,rejected_calls=0,failed_calls=2")));
}

TEST_F(CommandReportsTest, ACommandThatWasOnlyRefusedHasCallsButNoLatency) {
  CountersOf("client|kill").rejected = 5;
  EXPECT_THAT(Report(EachCommand),
              ElementsAre(Pair("client|kill", "calls=0,usec=0,usec_per_call=0.00,rejected_calls=5,failed_calls=0")));
  EXPECT_THAT(Report(EachLatency), IsEmpty());
}

TEST_F(CommandReportsTest, ErrorsOfAllLoopsAreAddedUpByTheirCode) {
  AddLoop();
  stats.loops[0].error_codes.Count("ERR syntax error");
  stats.loops[1].error_codes.Count("ERR no such key");
  stats.loops[1].error_codes.Count("NOAUTH Authentication required.");
  EXPECT_THAT(Report(EachErrorCode), ElementsAre(Pair("ERR", "count=2"), Pair("NOAUTH", "count=1")));
  for (LoopStats& loop : stats.loops) loop.error_codes.Reset();
  EXPECT_THAT(Report(EachErrorCode), IsEmpty());
}

TEST_F(CommandReportsTest, LatenciesAreMicrosecondsWithinTheBucketOfTheCalls) {
  for (int i = 0; i < 100; ++i) CountersOf("ping").AddCalls(1, 1'500);  // the bucket from 1.024 to 2.048 us
  const Fields fields = Report(EachLatency);
  ASSERT_THAT(fields, ElementsAre(Pair("ping", testing::_)));
  double p50 = 0, p99 = 0, p999 = 0;
  ASSERT_EQ(std::sscanf(fields.at("ping").c_str(), "p50=%lf,p99=%lf,p99.9=%lf", &p50, &p99, &p999), 3);
  EXPECT_GE(p50, 1.024);
  EXPECT_LE(p50, p99);
  EXPECT_LE(p99, p999);
  EXPECT_LE(p999, 2.048);
}

}  // namespace
}  // namespace bitsieve::server
