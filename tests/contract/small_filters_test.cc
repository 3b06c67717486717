// The requested error rate and its estimate, from a capacity of 1 up. Single small filters differ: what is promised is
// the mean over many, each with a seed of its own.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/families/redisbloom/redisbloom_types.h"
#include "core/hash/mix64.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {
namespace {

using core::FilterType;

// The server's hashes of different items are as good as random ones; those of redisbloom are what they are.
core::KeyHash RandomHash(const core::Filter& filter, uint64_t number) {
  if (core::FindFilterType(filter.params().type)->made.any_hash || filter.params().type != core::kRedisBloomType) {
    return {core::Mix64(2 * number), core::Mix64(2 * number + 1)};
  }
  return filter.HashOf(Key(KeySource::kSequentialIntegers, number));
}

struct Measured {
  double rate = 0;                  // mean over all filters
  double rate_where_estimated = 0;  // mean over those with an estimate
  double estimate = 0;              // mean of these
  uint64_t found = 0;
  uint64_t estimates = 0;
};

class SmallFilters : public FilterContract {
 protected:
  static constexpr uint64_t kFilters = 400 / std::min<uint64_t>(kSlowdown, 4);
  static constexpr uint64_t kEstimatedFilters = kFilters / 8;  // an estimate may take a millisecond

  // Filters of this capacity that were added to until they held `items` or were full.
  Measured Measure(double rate, uint64_t capacity, uint32_t expansion, uint64_t items, uint64_t filters = kFilters) {
    const auto enough = std::clamp(4000 / rate / static_cast<double>(filters), 100.0, 20'000.0);
    const uint64_t lookups = static_cast<uint64_t>(enough) / kSlowdown + 100;
    Measured measured;
    uint64_t found_where_estimated = 0;
    uint64_t next = Number(rate, capacity);
    for (uint64_t i = 0; i < filters; ++i) {
      const auto filter = Make(rate, capacity, expansion, i + 1);
      Fill(*filter, items, next);
      const uint64_t found = CountAbsent(*filter, lookups, next);
      measured.found += found;
      if (filters == kFilters) continue;
      if (const std::optional<double> estimate = filter->EstimatedErrorRate()) {
        ++measured.estimates;
        measured.estimate += *estimate;
        found_where_estimated += found;
      }
    }
    measured.rate = static_cast<double>(measured.found) / static_cast<double>(filters * lookups);
    if (measured.estimates == 0) return measured;
    const auto estimates = static_cast<double>(measured.estimates);
    measured.rate_where_estimated =
        static_cast<double>(found_where_estimated) / (estimates * static_cast<double>(lookups));
    measured.estimate /= estimates;
    return measured;
  }

 private:
  static uint64_t Number(double rate, uint64_t capacity) {
    return (static_cast<uint64_t>(1e7 * rate) << 32) + (capacity << 24);
  }
  static void Fill(core::Filter& filter, uint64_t items, uint64_t& next) {
    for (uint64_t tries = 0; filter.ItemCount() < items && tries < 100 * items; ++tries) {
      const std::array hash{RandomHash(filter, next++)};
      std::array<core::AddOutcome, 1> outcome;
      filter.Add(hash, outcome);
      if (outcome[0] > core::AddOutcome::kAdded) return;
    }
  }
  static uint64_t CountAbsent(const core::Filter& filter, uint64_t lookups, uint64_t& next) {
    std::array<core::KeyHash, 64> hashes;
    std::array<uint8_t, 64> present;
    uint64_t found = 0;
    for (uint64_t done = 0; done < lookups;) {
      const size_t count = std::min<uint64_t>(hashes.size(), lookups - done);
      for (size_t i = 0; i < count; ++i) hashes[i] = RandomHash(filter, next++);
      filter.MayContain(std::span(hashes).first(count), std::span(present).first(count));
      found += static_cast<uint64_t>(std::count(present.begin(), present.begin() + static_cast<ptrdiff_t>(count), 1));
      done += count;
    }
    return found;
  }
};
BITSIEVE_FOR_ALL_KINDS(SmallFilters);

constexpr std::array kCapacities{1, 2, 3, 5, 10, 20, 100};

std::string Case(double rate, uint64_t capacity) { return std::to_string(rate) + " of " + std::to_string(capacity); }

// The types of other products have the rates that their layouts give.
bool IsAnothersLayout(FilterType type) {
  return type == core::kRedisBloomType || type == core::kRedisCuckooType || type == core::kValkeyBloomType;
}

TEST_P(SmallFilters, KeepTheRequestedRateWhenFull) {
  if (IsAnothersLayout(GetParam())) GTEST_SKIP() << "its rate cannot be requested";
  for (const double rate : {0.25, 0.1, 0.01, 1e-3}) {
    for (const uint64_t capacity : kCapacities) {
      const double measured = Measure(rate, capacity, 0, capacity).rate;
      EXPECT_LE(measured / rate, 1.1) << Case(rate, capacity);
    }
  }
}

TEST_P(SmallFilters, KeepTheRequestedRateWhenTheyBeginSmallAndGrow) {
  if (IsAnothersLayout(GetParam())) GTEST_SKIP() << "its rate cannot be requested";
  if (Forgets()) GTEST_SKIP() << "it does not grow";
  for (const double rate : {0.1, 0.01}) {
    for (const uint64_t capacity : {1, 3}) {
      const double measured = Measure(rate, capacity, 2, 40 * capacity).rate;
      EXPECT_LE(measured / rate, 1.1) << Case(rate, capacity);
    }
  }
}

TEST_P(SmallFilters, EstimateTheirRateWithinATenthOrNotAtAll) {
  for (const double rate : {0.25, 0.1, 0.01, 1e-3}) {
    for (const uint64_t capacity : kCapacities) {
      const Measured measured = Measure(rate, capacity, 0, capacity, kEstimatedFilters);
      // Where an estimate exists for few filters, these are not like the others, and their mean is not meaningful.
      if (measured.found < 2000 || measured.estimates < kEstimatedFilters * 9 / 10) continue;
      EXPECT_NEAR(measured.estimate / measured.rate_where_estimated, 1, 0.1) << Case(rate, capacity);
    }
  }
}

// RedisBloom's growth by equal sub-filters halves the error rate each time: hundreds of hash functions over 64 bits.
TEST(SmallRedisBloomFilters, EstimateTheRateOfAChainOfTinySubFilters) {
  core::MemoryBudget budget;
  core::FilterParams params;
  params.type = core::kRedisBloomType;
  params.error_rate = 0.01;
  params.capacity = 1;
  params.expansion = 1;
  const auto filter = core::MakeFilter(core::Settled(params), budget, StillClock());
  ASSERT_TRUE(filter);
  uint64_t next = 0;
  for (; next < 1000; ++next) {
    const std::array hash{RandomHash(**filter, next)};
    std::array<core::AddOutcome, 1> outcome;
    (*filter)->Add(hash, outcome);
  }
  uint64_t found = 0;
  constexpr uint64_t kLookups = 20'000 / kSlowdown;
  for (uint64_t i = 0; i < kLookups; ++i) {
    const std::array hash{RandomHash(**filter, next++)};
    std::array<uint8_t, 1> present;
    (*filter)->MayContain(hash, present);
    found += present[0];
  }
  const double rate = static_cast<double>(found) / kLookups;
  EXPECT_GT(rate, 0.3);
  const std::optional<double> estimate = (*filter)->EstimatedErrorRate();
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(*estimate / rate, 1, 0.1);
}

}  // namespace
}  // namespace bitsieve::test
