// ribbon_type.h: the filter type ribbon. Thread-safe: constants.
#pragma once

#include "core/filter/filter_type.h"

namespace bitsieve::core {

inline constexpr FilterType kRibbonType{9};
extern const FilterTypeRow kRibbonRow;

}  // namespace bitsieve::core
