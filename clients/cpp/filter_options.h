// filter_options.h: what FilterOptions ask for, as the core's parameters. Thread-safe: a free function.
#pragma once

#include "clients/cpp/filter.h"
#include "core/filter/filter_params.h"

namespace bitsieve::clients {

// kInvalidArgument names the option, and what would be right. Ranges are checked when the filter is made.
Result<core::FilterParams> ParamsOf(const FilterOptions& options);

}  // namespace bitsieve::clients
