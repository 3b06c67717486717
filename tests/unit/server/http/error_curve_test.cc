#include "server/http/error_curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/clock.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_ptr.h"

namespace bitsieve::server {
namespace {

core::FilterPtr Filled(const core::FilterParams& params, uint64_t items) {
  static core::MemoryBudget memory;
  core::FilterPtr filter = std::move(*core::MakeFilter(params, memory, core::SystemClock()));
  for (uint64_t i = 0; i < items; ++i) {
    const core::KeyHash hash = filter->HashOf({reinterpret_cast<const char*>(&i), sizeof i});
    core::AddOutcome outcome{};
    filter->Add({&hash, 1}, {&outcome, 1});
  }
  return filter;
}

TEST(ErrorCurve, RisesToTheRequestedRate) {
  const auto curve =
      ErrorCurve(*Filled({.error_rate = 0.01, .capacity = 1'000'000, .expansion = 0, .first_share = 1}, 0));
  ASSERT_GT(curve.size(), 20U);
  for (size_t i = 1; i < curve.size(); ++i) {
    EXPECT_GT(curve[i].fill, curve[i - 1].fill);
    EXPECT_GE(curve[i].error_rate, curve[i - 1].error_rate);
  }
  EXPECT_NEAR(curve.back().fill, 1, 0.03);
  EXPECT_NEAR(curve.back().error_rate, 0.01, 0.003);
}

TEST(ErrorCurve, PassesNearWhereTheFilterIs) {
  const auto filter = Filled({.error_rate = 0.01, .capacity = 200'000, .expansion = 2}, 150'000);
  const double fill = static_cast<double>(filter->ItemCount()) / static_cast<double>(filter->Info().capacity);
  const auto curve = ErrorCurve(*filter);
  const auto* near = &curve.front();
  for (const CurvePoint& point : curve) {
    if (std::fabs(point.fill - fill) < std::fabs(near->fill - fill)) near = &point;
  }
  EXPECT_NEAR(near->error_rate, *filter->EstimatedErrorRate(), 0.25 * near->error_rate);
}

TEST(ErrorCurve, HasAsManySubFiltersAsTheFilter) {
  const auto filter = Filled({.error_rate = 0.01, .capacity = 1000, .expansion = 2}, 6000);
  ASSERT_GT(filter->SubFilters(), 1U);
  const auto curve = ErrorCurve(*filter);
  ASSERT_FALSE(curve.empty());
  EXPECT_NEAR(curve.back().fill, 1, 0.05);
}

TEST(ErrorCurve, IsWithinReachOfEveryType) {
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    if (!type->made.by_reserve) continue;
    core::FilterParams params{.type = type->type, .capacity = 10'000, .expansion = 0};
    if (type->settle != nullptr) type->settle(params);
    core::MemoryBudget memory;
    const auto filter = core::MakeFilter(params, memory, core::SystemClock());
    if (!filter) continue;  // it needs options of its own
    for (const CurvePoint& point : ErrorCurve(**filter)) {
      EXPECT_GE(point.error_rate, 0) << type->name;
      EXPECT_LE(point.error_rate, 1) << type->name;
    }
  }
}

}  // namespace
}  // namespace bitsieve::server
