// bloom_types.h: the filter types whose sub-filters are Bloom filters, and their own parameters.
// Thread-safe: constants and pure functions.
#pragma once

#include <array>
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

// The parameter of the type counting.
inline constexpr std::array<uint64_t, 2> kCounterWidths{4, 8};
inline constexpr OwnParam kCounterBits{.number = 1, .name = "counter bits", .default_value = 4, .only = kCounterWidths};
inline uint32_t CounterBitsOf(const FilterParams& params) {
  return static_cast<uint32_t>(params.own.Get(kCounterBits));
}
inline void SetCounterBits(FilterParams& params, uint32_t bits) { params.own.Set(kCounterBits, bits); }

}  // namespace bitsieve::core
