// plan_for.h: a plan that must exist, for tests.
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "cli/plan/planner.h"

namespace bitsieve::cli {

inline Plan PlanFor(const Need& need) {
  auto plan = MakePlan(need);
  EXPECT_TRUE(plan) << plan.error();
  return plan ? std::move(*plan) : Plan{};
}

}  // namespace bitsieve::cli
