// A forecast of a filter must match the real filter: for every type, empty, half full, full, and grown.
#include <gtest/gtest.h>

#include <cmath>

#include "core/filter/forecast.h"
#include "core/filter/staging.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {
namespace {

constexpr uint64_t kCapacity = 20'000;
constexpr uint64_t kFewItems = kCapacity / 4;

class ForecastContract : public FilterContract {
 protected:
  void ExpectAsForecast(const core::Filter& filter, uint64_t items) {
    const auto forecast = core::ForecastOf(filter.params(), items);
    ASSERT_TRUE(forecast) << forecast.error().message;
    const core::FilterInfo info = filter.Info();
    EXPECT_EQ(forecast->items, items);
    EXPECT_EQ(forecast->capacity, info.capacity);
    EXPECT_EQ(forecast->size_bytes, info.size_bytes);
    EXPECT_EQ(forecast->peak_bytes, info.size_bytes);
    EXPECT_EQ(forecast->sub_filters, info.sub_filters);
    EXPECT_EQ(forecast->hash_functions, info.hash_functions);
    EXPECT_EQ(forecast->fingerprint_bits, info.fingerprint_bits);
    ExpectRate(*forecast, filter);
  }
  // Compares the rates, except for small filters, which differ from each other by chance, and filters whose rate is not
  // known.
  static void ExpectRate(const core::Forecast& forecast, const core::Filter& filter) {
    const auto rate = filter.EstimatedErrorRate();
    if (!rate || filter.params().capacity < kFewItems) return;
    EXPECT_NEAR(forecast.error_rate, *rate, *rate * 0.25 + 1e-12);
  }
  void FillTo(core::Filter& filter, uint64_t items) {
    while (filter.ItemCount() < items) {
      const core::KeyHash hash = filter.HashOf(Key(KeySource::kStrings, next_++));
      core::AddOutcome outcome{};
      ASSERT_EQ(filter.Add({&hash, 1}, {&outcome, 1}), 1U);
    }
  }

 private:
  uint64_t next_ = 0;
};

TEST_P(ForecastContract, OfAFilterThatFillsUp) {
  if (HasNoSubFilters()) return;  // tested below
  for (const double rate : {0.02, 1e-4, 1e-6}) {
    auto filter = Make(rate, kCapacity, 0, 7);
    for (const uint64_t items : {uint64_t{0}, kCapacity / 2, kCapacity}) {
      SCOPED_TRACE(testing::Message() << rate << " with " << items);
      FillTo(*filter, items);
      ExpectAsForecast(*filter, items);
    }
    const auto beyond = core::ForecastOf(filter->params(), 3 * kCapacity);
    ASSERT_TRUE(beyond);
    EXPECT_EQ(beyond->size_bytes, filter->Info().size_bytes);
    EXPECT_LT(beyond->items, Forgets() ? kCapacity * 3 / 2 : kCapacity + 1);
  }
}

TEST_P(ForecastContract, OfAFilterThatGrows) {
  if (HasNoSubFilters() || Forgets()) return;
  for (const uint64_t capacity : {uint64_t{20}, kFewItems}) {
    auto filter = Make(0.001, capacity, 2, 7);
    for (const uint64_t items : {capacity / 4, capacity, capacity * 2, kCapacity, 2 * kCapacity}) {
      SCOPED_TRACE(testing::Message() << capacity << " with " << items);
      FillTo(*filter, items);
      ASSERT_NO_FATAL_FAILURE(ExpectAsForecast(*filter, items));
    }
  }
}

TEST_P(ForecastContract, RefusesWhatMakingRefuses) {
  core::FilterParams params = ParamsOf(GetParam(), 0.01, 100, 0, 0);
  params.capacity = 0;
  EXPECT_FALSE(core::ForecastOf(params, 10));
}

std::vector<core::FilterType> TypesWithForecast() {
  std::vector<core::FilterType> types;
  for (const core::FilterTypeRow* row : core::FilterTypes()) {
    if (row->forecast != nullptr) types.push_back(row->type);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(Types, ForecastContract, testing::ValuesIn(TypesWithForecast()),
                         [](const auto& test) { return std::string(core::FilterTypeName(test.param)); });

TEST(Forecast, OfEveryTypeThatIsReserved) {
  for (const core::FilterTypeRow* row : core::FilterTypes()) EXPECT_EQ(row->forecast != nullptr, row->made.by_reserve);
}

TEST(Forecast, OfAFrozenFilter) {
  core::MemoryBudget budget;
  for (const uint64_t items : {uint64_t{100}, uint64_t{50'000}, uint64_t{400'000} / kSlowdown}) {
    auto filter = core::MakeFilter(ParamsOf(core::kRibbonType, 0.003, items, 2, 0), budget, StillClock());
    ASSERT_TRUE(filter);
    for (uint64_t i = 0; i < items; ++i) {
      const core::KeyHash hash = (*filter)->HashOf(Key(KeySource::kStrings, i));
      core::AddOutcome outcome{};
      (*filter)->Add({&hash, 1}, {&outcome, 1});
    }
    core::Staging& staging = *(*filter)->staging();
    const auto forecast = core::ForecastOf((*filter)->params(), items);
    ASSERT_TRUE(forecast);
    ASSERT_TRUE(staging.Close());
    const auto frozen = staging.Build(budget, [] { return true; });
    ASSERT_TRUE(frozen);
    const auto size = static_cast<double>((*frozen)->size_bytes());
    EXPECT_NEAR(static_cast<double>(forecast->size_bytes), size, size / 1000);
    EXPECT_GE(forecast->peak_bytes, (*filter)->size_bytes() + (*frozen)->size_bytes());
    EXPECT_EQ(forecast->hash_functions, (*frozen)->Info().hash_functions);
    EXPECT_NEAR(forecast->error_rate, *(*frozen)->EstimatedErrorRate(), forecast->error_rate / 100);
  }
}

}  // namespace
}  // namespace bitsieve::test
