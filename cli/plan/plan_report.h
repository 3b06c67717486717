// plan_report.h: a plan as text for people and as JSON for programs. Thread-safe: pure functions.
#pragma once

#include <optional>
#include <string>

#include "cli/plan/planner.h"

namespace bitsieve::cli {

// Lines whose different ones were counted.
struct Sample {
  std::string file;
  uint64_t lines = 0;
  double distinct = 0;          // estimated
  uint64_t upper_distinct = 0;  // DistinctCounter::UpperEstimate, which is planned for
};

std::string TextOf(const Plan& plan, const std::optional<Sample>& sample);
// One object. docs/plan.md describes its fields.
std::string JsonOf(const Plan& plan, const std::optional<Sample>& sample);
std::string TextOf(const FoldPlan& plan);
std::string JsonOf(const FoldPlan& plan);

}  // namespace bitsieve::cli
