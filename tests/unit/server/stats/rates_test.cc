#include "server/stats/rates.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

TEST(Rates, AreZeroBeforeTheSecondSample) {
  Rates rates;
  EXPECT_EQ(rates.PerSecond().commands, 0U);
  rates.Sample(1000, {.commands = 500});
  EXPECT_EQ(rates.PerSecond().commands, 0U);
}

TEST(Rates, AreGrowthOverTime) {
  Rates rates;
  rates.Sample(1000, {.commands = 100, .input_bytes = 0, .output_bytes = 7});
  rates.Sample(1500, {.commands = 200, .input_bytes = 5'000, .output_bytes = 7});
  EXPECT_EQ(rates.PerSecond().commands, 200U);
  EXPECT_EQ(rates.PerSecond().input_bytes, 10'000U);
  EXPECT_EQ(rates.PerSecond().output_bytes, 0U);
}

TEST(Rates, ForgetWhatIsOlderThanTheirWindow) {
  Rates rates;
  int64_t ms = 0;
  rates.Sample(ms, {.commands = 0});
  for (int i = 0; i < 100; ++i) rates.Sample(ms += 100, {.commands = 1'000'000});
  EXPECT_EQ(rates.PerSecond().commands, 0U) << "the burst is ten seconds ago";
  for (int i = 0; i < 5; ++i) rates.Sample(ms += 100, {.commands = 1'000'000U + 30U * static_cast<unsigned>(i + 1)});
  EXPECT_EQ(rates.PerSecond().commands, 100U) << "150 in the last 1.5 seconds";
}

TEST(Rates, BeginAgainAfterCountersWereReset) {
  Rates rates;
  rates.Sample(0, {.commands = 1'000});
  rates.Sample(100, {.commands = 2'000});
  rates.Sample(200, {.commands = 5});
  EXPECT_EQ(rates.PerSecond().commands, 0U);
  rates.Sample(300, {.commands = 15});
  EXPECT_EQ(rates.PerSecond().commands, 100U);
}

TEST(Rates, AClockThatStandsStillMakesNoRate) {
  Rates rates;
  rates.Sample(100, {.commands = 1});
  rates.Sample(100, {.commands = 2});
  EXPECT_EQ(rates.PerSecond().commands, 0U);
}

}  // namespace
}  // namespace bitsieve::server
