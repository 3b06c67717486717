#include "server/stats/latency_monitor.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

TEST(LatencyMonitor, KeepsNothingBelowTheThresholdOrWithoutOne) {
  LatencyMonitor monitor;
  monitor.Record(LatencyEvent::kCommand, 100, 5'000);
  EXPECT_EQ(monitor.Of(LatencyEvent::kCommand).longest_ms, 0U);
  monitor.set_threshold_ms(10);
  monitor.Record(LatencyEvent::kCommand, 100, 9);
  EXPECT_EQ(monitor.Of(LatencyEvent::kCommand).longest_ms, 0U);
  monitor.Record(LatencyEvent::kCommand, 100, 10);
  EXPECT_EQ(monitor.Of(LatencyEvent::kCommand).longest_ms, 10U);
  EXPECT_EQ(monitor.Of(LatencyEvent::kLogSync).longest_ms, 0U) << "each event has its own times";
}

TEST(LatencyMonitor, ShowsTheLongestOfTheLatestSecondAndOfAll) {
  LatencyMonitor monitor;
  monitor.set_threshold_ms(1);
  for (const auto& [second, ms] : {std::pair{100, 50}, {101, 20}, {101, 30}, {101, 10}}) {
    monitor.Record(LatencyEvent::kSnapshot, second, static_cast<uint64_t>(ms));
  }
  const LatencyMonitor::Times times = monitor.Of(LatencyEvent::kSnapshot);
  EXPECT_EQ(times.last_unix_s, 101);
  EXPECT_EQ(times.last_ms, 30U);
  EXPECT_EQ(times.longest_ms, 50U);
}

TEST(LatencyMonitor, ResetForgetsOneEvent) {
  LatencyMonitor monitor;
  monitor.set_threshold_ms(1);
  monitor.Record(LatencyEvent::kCommand, 1, 2);
  monitor.Record(LatencyEvent::kEventLoop, 1, 2);
  EXPECT_TRUE(monitor.Reset(LatencyEvent::kCommand));
  EXPECT_FALSE(monitor.Reset(LatencyEvent::kCommand)) << "there is nothing left to forget";
  EXPECT_EQ(monitor.Of(LatencyEvent::kCommand).longest_ms, 0U);
  EXPECT_EQ(monitor.Of(LatencyEvent::kEventLoop).longest_ms, 2U);
}

TEST(LatencyMonitor, FindsEventsByName) {
  EXPECT_EQ(LatencyMonitor::Find("Fast-Command"), LatencyEvent::kFastCommand);
  EXPECT_EQ(LatencyMonitor::Find("snapshot"), LatencyEvent::kSnapshot);
  EXPECT_EQ(LatencyMonitor::Find("fork"), std::nullopt);
}

}  // namespace
}  // namespace bitsieve::server
