#include "cli/plan/distinct_counter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace bitsieve::cli {
namespace {

// 4.5 standard errors: one estimate in 150000 is beyond.
constexpr double kTolerance = 4.5 * DistinctCounter::kStandardError;

TEST(DistinctCounter, NothingIsNothing) { EXPECT_EQ(DistinctCounter().Estimate(), 0); }

TEST(DistinctCounter, IsWithinItsErrorAtEverySize) {
  DistinctCounter counter;
  uint64_t items = 0;
  for (const uint64_t size : {1, 10, 100, 1000, 10'000, 65'536, 200'000, 1'000'000, 3'000'000}) {
    for (; items < size; ++items) counter.Add("item " + std::to_string(items));
    const auto exact = static_cast<double>(size);
    EXPECT_NEAR(counter.Estimate(), exact, std::max(0.5, exact * kTolerance)) << size;
  }
}

TEST(DistinctCounter, RepeatedItemsCountOnce) {
  DistinctCounter counter;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 5000; ++i) counter.Add(std::to_string(i));
    EXPECT_NEAR(counter.Estimate(), 5000, 5000 * kTolerance);
  }
}

TEST(DistinctCounter, UpperEstimateIsTwoStandardErrorsMoreButNoMoreThanWasAdded) {
  DistinctCounter counter;
  for (int i = 0; i < 5000; ++i) counter.Add(std::to_string(i));
  EXPECT_LE(counter.UpperEstimate(), 5000);
  for (int i = 0; i < 5000; ++i) counter.Add(std::to_string(i));
  EXPECT_EQ(counter.UpperEstimate(), std::ceil(counter.Estimate() * (1 + 2 * DistinctCounter::kStandardError)));
}

TEST(DistinctCounter, ItemsAreAnyBytes) {
  DistinctCounter counter;
  for (const std::string& item : {std::string(), std::string("\0", 1), std::string("\0\0", 2), std::string("\xff")}) {
    counter.Add(item);
  }
  EXPECT_NEAR(counter.Estimate(), 4, 0.01);
}

// The mean of many estimates shows an error that is no chance.
TEST(DistinctCounter, HasTheStatedErrorAndNoBias) {
  constexpr int kCounters = 60;
  constexpr double kItems = 40'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kCounters; ++i) {
    DistinctCounter counter;
    for (int item = 0; item < kItems; ++item) counter.Add(std::to_string(i) + "/" + std::to_string(item));
    const double error = counter.Estimate() / kItems - 1;
    sum += error;
    squares += error * error;
  }
  EXPECT_LT(std::abs(sum / kCounters), 4 * DistinctCounter::kStandardError / std::sqrt(kCounters));
  EXPECT_LT(std::sqrt(squares / kCounters), 1.5 * DistinctCounter::kStandardError);
}

}  // namespace
}  // namespace bitsieve::cli
