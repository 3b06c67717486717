// cuckoo_type.h: the filter type cuckoo and its parameters of its own. Thread-safe: constants and pure functions.
#pragma once

#include <cstdint>

#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

inline constexpr FilterType kCuckooType{4};
extern const FilterTypeRow kCuckooRow;

inline constexpr uint32_t kMinBucketSize = 2;  // buckets of one slot are not even half full when inserting fails
inline constexpr uint32_t kMaxBucketSize = 8;  // more would only cost fingerprint bits
inline constexpr uint32_t kMaxMaxIterations = 65535;

// Slots of a bucket, in [kMinBucketSize, kMaxBucketSize].
inline uint32_t BucketSizeOf(const FilterParams& params) { return params.own.narrow[1]; }
inline void SetBucketSize(FilterParams& params, uint32_t slots) { params.own.narrow[1] = slots; }
// Buckets that an addition looks at for a free slot, in [1, kMaxMaxIterations].
inline uint32_t MaxIterationsOf(const FilterParams& params) { return params.own.narrow[2]; }
inline void SetMaxIterations(FilterParams& params, uint32_t buckets) { params.own.narrow[2] = buckets; }

}  // namespace bitsieve::core
