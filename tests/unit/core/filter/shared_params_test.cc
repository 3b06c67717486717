#include "core/filter/shared_params.h"

#include <gtest/gtest.h>

#include "core/filter/filter_factory.h"

namespace bitsieve::core {
namespace {

TEST(SharedParams, FiltersThatDifferInTheirSeedsShareTheRest) {
  MemoryBudget budget;
  FilterParams params;
  params.seed = 1;
  const auto a = SharedParams::Of(params, budget);
  params.seed = 2;
  EXPECT_EQ(SharedParams::Of(params, budget), a);
  EXPECT_EQ(a->params.seed, 0U);
  params.capacity = 7;
  EXPECT_NE(SharedParams::Of(params, budget), a);
  MemoryBudget other;
  EXPECT_NE(SharedParams::Of({}, other), a);
  const auto filter = MakeFilter(params, budget, SystemClock());
  EXPECT_EQ((*filter)->params().seed, 2U);
  EXPECT_EQ((*filter)->params().capacity, 7U);
}

}  // namespace
}  // namespace bitsieve::core
