// bloom_types.h: the filter types whose sub-filters are Bloom filters, and their own parameters.
// Thread-safe: constants and pure functions.
#pragma once

#include <cstdint>

#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

inline constexpr FilterType kClassicType{1};
inline constexpr FilterType kBlockedType{2};
inline constexpr FilterType kCountingType{3};

extern const FilterTypeRow kClassicRow;
extern const FilterTypeRow kBlockedRow;
extern const FilterTypeRow kCountingRow;

struct ChainType;
extern const ChainType kClassicChain;
extern const ChainType kBlockedChain;
extern const ChainType kCountingChain;

inline constexpr uint32_t kDefaultCounterBits = 4;

// The bits per counter of the type counting are 4 or 8.
inline uint32_t CounterBitsOf(const FilterParams& params) { return params.own.narrow[0]; }
inline void SetCounterBits(FilterParams& params, uint32_t bits) { params.own.narrow[0] = bits; }

}  // namespace bitsieve::core
