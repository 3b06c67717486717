// fold_plan.h: to what sizes BF.FOLD can make a filter of a running server smaller. Thread-safe: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cli/plan/planner.h"
#include "core/base/result.h"

namespace bitsieve::cli {

// `debug` are the lines that BF.DEBUG returns. The steps have room for `items`, or, if that is 0, for twice what the
// filter holds. The error, for people, says why it cannot be folded.
core::Outcome<FoldPlan> MakeFoldPlan(PresentFilter filter, std::span<const std::string> debug, uint64_t items);

}  // namespace bitsieve::cli
