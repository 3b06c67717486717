#include "core/families/bloom/sizing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace bitsieve::core {
namespace {

TEST(ClassicSizing, TakesThePublishedMemory) {
  EXPECT_NEAR(static_cast<double>(ClassicBits(1'000'000, 1e-6)) / 8e6, 3.59, 0.005);  // MB, at 0.0001%
  EXPECT_NEAR(static_cast<double>(ClassicBits(1'000'000, 1e-3)) / 8e6, 1.80, 0.005);  // MB, at 0.1%
}

struct PublishedRow {
  double rate;
  uint32_t hashes;
  uint64_t capacity;
};

class PublishedTable : public testing::TestWithParam<PublishedRow> {};

// For 262,144 bits.
TEST_P(PublishedTable, GivesHashesAndCapacity) {
  EXPECT_EQ(ClassicHashesForRate(GetParam().rate), GetParam().hashes);
  EXPECT_LE(ClassicBits(GetParam().capacity, GetParam().rate), 262'144U);
  EXPECT_GT(ClassicBits(GetParam().capacity + 1, GetParam().rate), 262'144U);
}

INSTANTIATE_TEST_SUITE_P(Of262144Bits, PublishedTable,
                         testing::Values(PublishedRow{1e-3, 10, 18232}, PublishedRow{1e-4, 14, 13674},
                                         PublishedRow{1e-5, 17, 10939}, PublishedRow{1e-6, 20, 9116}));

TEST(ClassicSizing, OptimalHashesHaveNoBetterNeighbour) {
  for (const double rate : {0.25, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-9}) {
    const uint64_t bits = ClassicBits(100'000, rate);
    const uint32_t best = ClassicOptimalHashes(bits, 100'000);
    EXPECT_LE(ClassicRate(bits, best, 100'000), ClassicRate(bits, best + 1, 100'000));
    if (best > 1) {
      EXPECT_LE(ClassicRate(bits, best, 100'000), ClassicRate(bits, best - 1, 100'000));
    }
    EXPECT_NEAR(ClassicRate(bits, best, 100'000) / rate, 1, 0.1) << rate;
  }
}

TEST(ClassicSizing, OnlySmallFiltersAndHighRatesTakeMoreThanTheTextbookSays) {
  constexpr uint32_t kMaxHashes = 64;
  for (const double rate : {0.01, 1e-3, 1e-6}) {
    EXPECT_EQ(ClassicShapeFor(1'000'000, rate, kMaxHashes, true).bits, ClassicBits(1'000'000, rate)) << rate;
  }
  EXPECT_LT(ClassicShapeFor(1'000'000, 0.1, kMaxHashes, true).bits, ClassicBits(1'000'000, 0.1) * 1.04);
  EXPECT_LT(ClassicShapeFor(1'000'000, 0.25, kMaxHashes, true).bits, ClassicBits(1'000'000, 0.25) * 1.12);
  for (const double rate : {0.25, 0.1, 0.01, 1e-3, 1e-6, 1e-9}) {
    for (const uint64_t items : {1, 2, 10}) {
      const ClassicShape shape = ClassicShapeFor(items, rate, kMaxHashes, false);
      EXPECT_GT(shape.bits, ClassicBits(items, rate)) << items << " at " << rate;
      EXPECT_LE(FiniteClassicRate(shape.bits, shape.hashes, static_cast<double>(items)), kRateTolerance * rate);
    }
  }
}

TEST(NewItemTrials, CountsTheItemsThatAreTakenForKnown) {
  EXPECT_DOUBLE_EQ(NewItemTrials(1, [](double) { return 0.25; }), 1);
  EXPECT_DOUBLE_EQ(NewItemTrials(1e6, [](double) { return 1e-3; }), 1e6);
  // A rate that grows with the square root of the items, up to 1/4: of n trials, n (1 - 2/3 * 1/4 * sqrt(n / 1000)) are
  // new.
  const double trials = NewItemTrials(1000, [](double items) { return 0.25 * std::sqrt(items / 1000); });
  EXPECT_NEAR(trials * (1 - 2.0 / 3 * 0.25 * std::sqrt(trials / 1000)), 1000, 5);
}

// The Poisson sum itself, term by term, from the definition: no closed form.
double LineRateBySummation(uint32_t k, double load) {
  // Inclusion and exclusion per number of items j: the chance that j items cover k lanes, where an item picks k of 16
  // lanes and one of 32 bits in each.
  double sum = 0;
  double weight = std::exp(-load);
  for (int j = 0; j < 400; ++j) {
    double covered = 0;
    for (uint32_t i = 0; i <= k; ++i) {
      double miss = 0;
      for (uint32_t t = 0; t <= i; ++t) {
        const auto choose = [](double n, double r) {
          return r > n ? 0 : std::exp(std::lgamma(n + 1) - std::lgamma(r + 1) - std::lgamma(n - r + 1));
        };
        miss += choose(i, t) * choose(16 - i, k - t) / choose(16, k) * std::pow(31.0 / 32, t);
      }
      const double term =
          std::exp(std::lgamma(k + 1) - std::lgamma(i + 1) - std::lgamma(k - i + 1)) * std::pow(miss, j);
      covered += i % 2 == 0 ? term : -term;
    }
    sum += weight * covered;
    weight *= load / (j + 1);
  }
  return sum;
}

TEST(BlockedSizing, ClosedFormIsThePoissonSum) {
  for (const uint32_t k : {1U, 3U, 6U, 9U, 12U, 16U}) {
    for (const double load : {5.0, 30.0, 51.7}) {
      EXPECT_NEAR(LineRate(k, load), LineRateBySummation(k, load), 1e-9) << k << " lanes, load " << load;
    }
  }
}

TEST(BlockedSizing, TakesTheBitsThatTheFormulaPromises) {
  const auto bits_per_item = [](double rate) {
    return static_cast<double>(BlockedShapeFor(1'000'000, rate).lines) * 512 / 1e6;
  };
  EXPECT_NEAR(bits_per_item(0.01), 9.91, 0.01);
  EXPECT_NEAR(bits_per_item(1e-3), 15.55, 0.01);
  EXPECT_NEAR(bits_per_item(1e-4), 19.84, 0.05);
  EXPECT_NEAR(bits_per_item(1e-6), 31.1, 0.1);
}

TEST(BlockedSizing, ShapeKeepsTheRateAndNoLineLessWould) {
  for (const double rate : {0.25, 0.1, 0.01, 1e-3, 2.1e-4, 1e-4, 1e-6, 1e-9, 1e-15}) {
    for (const uint64_t items : {1000ULL, 1'000'000ULL, 1ULL << 30}) {
      const BlockedShape shape = BlockedShapeFor(items, rate);
      const auto rate_of = [&](uint64_t lines, double added) {
        return BlockedRate(lines, shape.lines_per_item, shape.lanes_per_line, added);
      };
      const double added =
          NewItemTrials(static_cast<double>(items), [&](double before) { return rate_of(shape.lines, before); });
      EXPECT_LE(rate_of(shape.lines, added), rate * kRateTolerance) << rate << " " << items;
      if (shape.lines > 10) {
        EXPECT_GT(rate_of(shape.lines - 2, added), rate * 0.95) << rate << " " << items;
      }
    }
  }
}

TEST(BlockedSizing, TwoLinesBelowTheThresholdOnly) {
  EXPECT_EQ(BlockedShapeFor(1000, kTwoLinesBelowRate).lines_per_item, 1U);
  EXPECT_EQ(BlockedShapeFor(1000, kTwoLinesBelowRate * 0.99).lines_per_item, 2U);
  EXPECT_GE(BlockedShapeFor(1, 1e-6).lines, 2U);
}

TEST(Fill, TellsTheDistinctItems) {
  // n items set on average m (1 - e^(-kn/m)) bits.
  const double expected_set = 1e6 * (1 - std::exp(-7.0 * 50'000 / 1e6));
  EXPECT_NEAR(EstimatedItems(static_cast<uint64_t>(expected_set), 1'000'000, 7), 50'000, 1);
  EXPECT_EQ(EstimatedItems(0, 1000, 3), 0);
  EXPECT_TRUE(std::isinf(EstimatedItems(1000, 1000, 3)));
  EXPECT_DOUBLE_EQ(FillRatio(250, 1000), 0.25);
}

}  // namespace
}  // namespace bitsieve::core
