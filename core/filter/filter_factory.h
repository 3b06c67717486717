// filter_factory.h: makes filters, empty from parameters or whole from bytes. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"
#include "core/filter/filter_decoder.h"

namespace bitsieve::core {

// An empty filter. kInvalidArgument as Validate; kOutOfMemory if the budget refuses its first sub-filter; in both cases
// nothing was allocated. The budget and the clock, which types that age ask for the time, must outlive the filter.
Result<std::unique_ptr<Filter>> MakeFilter(const FilterParams& params, MemoryBudget& budget, const Clock& clock);

// An independent filter, exactly as `filter` is at some moment of the call. kOutOfMemory if the budget refuses it.
Result<std::unique_ptr<Filter>> CloneFilter(const Filter& filter, MemoryBudget& budget, const Clock& clock);

}  // namespace bitsieve::core
