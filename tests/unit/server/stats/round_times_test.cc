#include "server/stats/round_times.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMs = 1'000'000;

int64_t Round(RoundTimes& times, int64_t begin_ns, int64_t took_ns) {
  times.Begin(begin_ns);
  return times.End(begin_ns + took_ns);
}

TEST(RoundTimes, AreCountedByTheirLength) {
  RoundTimes times;
  EXPECT_EQ(Round(times, kSecond, 50'000), 50'000);
  Round(times, kSecond, RoundTimes::kBoundsNs[0]);
  Round(times, kSecond, RoundTimes::kBoundsNs[0] + 1);
  Round(times, kSecond, 5 * kSecond);
  EXPECT_EQ(times.count(0), 2U) << "a bound belongs to its place";
  EXPECT_EQ(times.count(1), 1U);
  EXPECT_EQ(times.count(RoundTimes::kPlaces - 1), 1U);
  EXPECT_EQ(times.sum_ns(), 50'000U + 2 * 100'000 + 1 + 5 * kSecond);
}

TEST(RoundTimes, TheLongestRoundIsForgottenAfterAWhile) {
  RoundTimes times;
  Round(times, 100 * kSecond, 20 * kMs);
  Round(times, 101 * kSecond, 5 * kMs);
  EXPECT_EQ(times.LongestNs(102 * kSecond), 20 * kMs);
  EXPECT_EQ(times.LongestNs(100 * kSecond + RoundTimes::kLateSeconds * kSecond), 20 * kMs);
  EXPECT_EQ(times.LongestNs(100 * kSecond + 3 * RoundTimes::kLateSeconds * kSecond), 0);
}

TEST(RoundTimes, ARoundUnderWayCountsAsLateAsItIs) {
  RoundTimes times;
  Round(times, kSecond, kMs);
  times.Begin(2 * kSecond);
  EXPECT_EQ(times.LongestNs(2 * kSecond + 30 * kMs), 30 * kMs);
  times.End(2 * kSecond + 40 * kMs);
  EXPECT_EQ(times.LongestNs(3 * kSecond), 40 * kMs);
}

TEST(RoundTimes, AClockThatGoesBackMakesNoNegativeRound) {
  RoundTimes times;
  EXPECT_EQ(Round(times, kSecond, -5), 0);
  EXPECT_EQ(times.sum_ns(), 0U);
  EXPECT_EQ(times.count(0), 1U);
}

}  // namespace
}  // namespace bitsieve::server
