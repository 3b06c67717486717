// fingerprint_type.h: the filter type fingerprint. Thread-safe: constants.
#pragma once

#include "core/filter/filter_type.h"

namespace bitsieve::core {

inline constexpr FilterType kFingerprintType{8};
extern const FilterTypeRow kFingerprintRow;

}  // namespace bitsieve::core
