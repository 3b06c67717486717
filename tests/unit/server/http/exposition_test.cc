#include "server/http/exposition.h"

#include <gtest/gtest.h>

#include <array>

namespace bitsieve::server {
namespace {

TEST(Exposition, OfACounterForPrometheus) {
  Exposition exposition(ExpositionFormat::kPrometheus);
  exposition.BeginFamily("bitsieve_calls_total", FamilyType::kCounter, "calls");
  exposition.Add(9007199254740992.0);
  EXPECT_EQ(std::move(exposition).Finish(),
            "# HELP bitsieve_calls_total calls\n# TYPE bitsieve_calls_total counter\n"
            "bitsieve_calls_total 9007199254740992\n");
}

TEST(Exposition, OfACounterInOpenMetrics) {
  Exposition exposition(ExpositionFormat::kOpenMetrics);
  exposition.BeginFamily("bitsieve_calls_total", FamilyType::kCounter, "calls");
  exposition.Add(0.5);
  EXPECT_EQ(std::move(exposition).Finish(),
            "# HELP bitsieve_calls calls\n# TYPE bitsieve_calls counter\nbitsieve_calls_total 0.5\n# EOF\n");
}

TEST(Exposition, EscapesLabels) {
  Exposition exposition(ExpositionFormat::kPrometheus);
  exposition.BeginFamily("g", FamilyType::kGauge, "h");
  exposition.AddLabelled(std::array{Exposition::Label("a", "x\"\\\ny"), Exposition::Label("b", "")}, -1);
  EXPECT_EQ(std::move(exposition).Finish(), "# HELP g h\n# TYPE g gauge\ng{a=\"x\\\"\\\\\\ny\",b=\"\"} -1\n");
}

TEST(Exposition, HistogramsAreCumulative) {
  Exposition exposition(ExpositionFormat::kPrometheus);
  exposition.BeginFamily("t", FamilyType::kHistogram, "h");
  exposition.AddHistogram({"l", "0"}, std::array{0.0001, 1.0}, std::array<uint64_t, 3>{2, 3, 1}, 7.25);
  EXPECT_EQ(std::move(exposition).Finish(),
            "# HELP t h\n# TYPE t histogram\nt_bucket{l=\"0\",le=\"0.0001\"} 2\nt_bucket{l=\"0\",le=\"1\"} 5\n"
            "t_bucket{l=\"0\",le=\"+Inf\"} 6\nt_sum{l=\"0\"} 7.25\nt_count{l=\"0\"} 6\n");
}

TEST(Exposition, FormatFollowsTheAcceptHeader) {
  EXPECT_EQ(PreferredFormat(""), ExpositionFormat::kPrometheus);
  EXPECT_EQ(PreferredFormat("text/plain;version=0.0.4"), ExpositionFormat::kPrometheus);
  EXPECT_EQ(PreferredFormat("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.1"),
            ExpositionFormat::kOpenMetrics);
}

constexpr MetricRow::Counter kCommands = &LoopStats::commands;

TEST(PrometheusName, FollowsFromTheRow) {
  EXPECT_EQ(PrometheusName({"total_net_input_bytes", MetricType::kCounter, MetricUnit::kBytes, "", kCommands}),
            "bitsieve_net_input_bytes_total");
  EXPECT_EQ(PrometheusName({"used_memory", MetricType::kGauge, MetricUnit::kBytes, "", kCommands}),
            "bitsieve_used_memory_bytes");
  EXPECT_EQ(PrometheusName({"lag_ms", MetricType::kGauge, MetricUnit::kMilliseconds, "", kCommands}),
            "bitsieve_lag_seconds");
  EXPECT_EQ(PrometheusName({"role", MetricType::kInfo, MetricUnit::kNone, "", kCommands}), "");
  EXPECT_EQ(PrometheusName({"zero", MetricType::kGauge, MetricUnit::kNone, "", kCommands, kNotExported}), "");
  EXPECT_EQ(PrometheusName({"status", MetricType::kInfo, MetricUnit::kNone, "", kCommands, "bitsieve_ok"}),
            "bitsieve_ok");
}

TEST(PrometheusValue, IsInBaseUnits) {
  const MetricRow lag{"lag_ms", MetricType::kGauge, MetricUnit::kMilliseconds, "", kCommands};
  EXPECT_EQ(PrometheusValue(lag, int64_t{1500}), 1.5);
  EXPECT_EQ(PrometheusValue(lag, int64_t{-1}), std::nullopt);
  EXPECT_EQ(PrometheusValue(lag, MetricValue()), std::nullopt);
  const MetricRow status{"status", MetricType::kInfo, MetricUnit::kNone, "", kCommands, "bitsieve_ok"};
  EXPECT_EQ(PrometheusValue(status, "ok"), 1);
  EXPECT_EQ(PrometheusValue(status, "err"), 0);
}

TEST(RoundTimes, CountsAndForgetsTheLongest) {
  constexpr int64_t kSecond = 1'000'000'000;
  RoundTimes times;
  times.Begin(100 * kSecond);
  EXPECT_EQ(times.LongestNs(103 * kSecond), 3 * kSecond) << "the round under way";
  times.End(104 * kSecond);
  EXPECT_EQ(times.count(RoundTimes::kPlaces - 1), 1U);
  EXPECT_EQ(times.sum_ns(), 4U * kSecond);
  times.Begin(105 * kSecond);
  times.End(105 * kSecond + 100'000);
  EXPECT_EQ(times.count(0), 1U);
  EXPECT_EQ(times.LongestNs(105 * kSecond), 4 * kSecond);
  EXPECT_EQ(times.LongestNs(105 * kSecond + (3 * RoundTimes::kLateSeconds) * kSecond), 0);
}

}  // namespace
}  // namespace bitsieve::server
