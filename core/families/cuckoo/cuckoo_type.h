// cuckoo_type.h: the filter type cuckoo and its parameters of its own. Thread-safe: constants and pure functions.
#pragma once

#include <cstdint>

#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

inline constexpr FilterType kCuckooType{4};
extern const FilterTypeRow kCuckooRow;

// The parameters of the type. Buckets of one slot are not even half full when inserting fails; more than 8 slots would
// only cost fingerprint bits.
inline constexpr OwnParam kBucketSize{.number = 1, .name = "bucket size", .default_value = 4, .min = 2, .max = 8};
inline constexpr OwnParam kMaxIterations{
    .number = 2, .name = "max iterations", .default_value = 2000, .min = 1, .max = 65535};

inline uint32_t BucketSizeOf(const FilterParams& params) { return static_cast<uint32_t>(params.own.Get(kBucketSize)); }
inline void SetBucketSize(FilterParams& params, uint32_t slots) { params.own.Set(kBucketSize, slots); }
inline uint32_t MaxIterationsOf(const FilterParams& params) {
  return static_cast<uint32_t>(params.own.Get(kMaxIterations));
}
inline void SetMaxIterations(FilterParams& params, uint32_t buckets) { params.own.Set(kMaxIterations, buckets); }

}  // namespace bitsieve::core
