#include "server/metrics/metric_readings.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

class MetricReadingsTest : public testing::Test, protected test::CommandFixture {
 protected:
  MetricReadingsTest() {
    environment_.clock = &clock;
    stats.started_unix_ms = clock.now_ms;
  }

  Environment environment_ = EnvironmentWith(nullptr);
};

TEST_F(MetricReadingsTest, WhatWasReadOnceStaysForTheRestOfAReport) {
  MetricReadings readings(environment_);
  const uint64_t used = readings.used_bytes();
  EXPECT_EQ(readings.totals().filters, 0U);
  EXPECT_EQ(readings.uptime_s(), 0);
  EXPECT_EQ(readings.loading_since_unix_s(), 0);
  EXPECT_TRUE(readings.snapshot().last_ok);

  Reply({"BF.RESERVE", "f", "0.01", "100000"});
  clock.now_ms += 60'000;
  stats.loading_since_unix_s = 77;
  control.snapshot.last_ok = false;
  EXPECT_EQ(readings.used_bytes(), used);
  EXPECT_EQ(readings.totals().filters, 0U);
  EXPECT_EQ(readings.uptime_s(), 0);
  EXPECT_EQ(readings.loading_since_unix_s(), 0);
  EXPECT_TRUE(readings.snapshot().last_ok);

  MetricReadings later(environment_);
  EXPECT_GT(later.used_bytes(), used);
  EXPECT_EQ(later.totals().filters, 1U);
  EXPECT_EQ(later.uptime_s(), 60);
  EXPECT_EQ(later.loading_since_unix_s(), 77);
  EXPECT_FALSE(later.snapshot().last_ok);
}

TEST_F(MetricReadingsTest, AClockThatWasSetBackIsNoNegativeUptime) {
  clock.now_ms -= 60'000;
  EXPECT_EQ(MetricReadings(environment_).uptime_s(), 0);
}

TEST_F(MetricReadingsTest, TotalsAreThoseOfAllFilters) {
  for (int i = 0; i < 300; ++i) Reply({"BF.RESERVE", "f" + std::to_string(i), "0.01", "100"});
  Reply({"BF.ADD", "f0", "a"});
  Reply({"BF.ADD", "f1", "a"});
  MetricReadings readings(environment_);
  EXPECT_EQ(readings.totals().filters, 300U);
  EXPECT_EQ(readings.totals().sub_filters, 300U);
  EXPECT_EQ(readings.totals().items, 2U);
  EXPECT_GE(readings.totals().capacity, 30'000U);
  EXPECT_GT(readings.totals().size_bytes, 0U);
}

TEST_F(MetricReadingsTest, TotalsThatWereGivenAreNotCountedAgain) {
  Reply({"BF.RESERVE", "f", "0.01", "100"});
  MetricReadings readings(environment_);
  readings.set_totals({.size_bytes = 1, .filters = 12, .sub_filters = 12, .items = 34, .capacity = 56});
  EXPECT_EQ(readings.totals().filters, 12U);
  EXPECT_EQ(readings.totals().items, 34U);
}

TEST_F(MetricReadingsTest, NamesNeverTakeMoreThanIsUsed) {
  MetricReadings empty(environment_);
  EXPECT_EQ(empty.name_bytes(), 0U);
  for (int i = 0; i < 10; ++i) Reply({"BF.RESERVE", "f" + std::to_string(i), "0.01", "10"});
  MetricReadings readings(environment_);
  EXPECT_EQ(readings.name_bytes(), 10 * commands::kNameOverheadBytes);
  EXPECT_LE(readings.name_bytes(), readings.used_bytes());
}

}  // namespace
}  // namespace bitsieve::server
