// sampled_error_rate.h: the false positive rate of a filter that no formula describes well, by lookups of made-up
// hashes. Thread-safe: a free function.
#pragma once

#include <cstdint>
#include <optional>

#include "core/filter/filter.h"

namespace bitsieve::core {

// The share of random hashes, always the same ones, that the filter takes for known. Nothing if those are too few for
// an error of about a tenth. A lookup looks at `tables` sub-filters; the more, the fewer lookups are made.
std::optional<double> SampledErrorRate(const Filter& filter, uint32_t tables);

}  // namespace bitsieve::core
