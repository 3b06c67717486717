// redisbloom_types.h: the filter types that are RedisBloom's, byte for byte, and their own parameters.
// Thread-safe: constants and pure functions.
#pragma once

#include <cstdint>

#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

extern const FilterTypeRow kRedisCuckooRow;
extern const FilterTypeRow kRedisBloomRow;

inline constexpr uint64_t kMaxRedisCuckooCapacity = uint64_t{1} << 50;  // slots: as many bytes

// Parameters of the type rediscuckoo: slots per bucket, in [1, kMaxRedisCuckooBucketSize], and fingerprints that an
// addition may move, in [1, kMaxRedisCuckooIterations].
// The parameters of the type rediscuckoo; the defaults are RedisBloom's.
inline constexpr OwnParam kRedisCuckooBucketSize{
    .number = 1, .name = "bucket size", .default_value = 2, .min = 1, .max = kMaxRedisCuckooBucketSize};
inline constexpr OwnParam kRedisCuckooIterations{
    .number = 2, .name = "iterations", .default_value = 20, .min = 1, .max = kMaxRedisCuckooIterations};
struct RedisCuckooParams {
  uint32_t bucket_size;
  uint32_t max_iterations;
};
inline RedisCuckooParams RedisCuckooParamsOf(const FilterParams& params) {
  return {static_cast<uint32_t>(params.own.Get(kRedisCuckooBucketSize)),
          static_cast<uint32_t>(params.own.Get(kRedisCuckooIterations))};
}
inline void SetRedisCuckooParams(FilterParams& params, const RedisCuckooParams& own) {
  params.own.Set(kRedisCuckooBucketSize, own.bucket_size);
  params.own.Set(kRedisCuckooIterations, own.max_iterations);
}

// The parameters of the type redisbloom: what a header holds besides the common ones, kept so that it is written again
// as it was read.
inline constexpr OwnParam kRedisBloomOptions{
    .number = 1, .name = "RedisBloom options", .default_value = 1, .max = UINT32_MAX};
inline constexpr OwnParam kRedisBloomGrowth{.number = 2, .name = "expansion", .default_value = 0, .max = kMaxExpansion};
struct RedisBloomMarks {
  uint32_t options =
      kRedisBloomOptions
          .default_value;  // of its option bits, those for rounding (1) and for capacities given as bits (2)
  uint32_t growth = kRedisBloomGrowth.default_value;  // of a filter that does not grow; of others the expansion
};
inline RedisBloomMarks RedisBloomMarksOf(const FilterParams& params) {
  return {static_cast<uint32_t>(params.own.Get(kRedisBloomOptions)),
          static_cast<uint32_t>(params.own.Get(kRedisBloomGrowth))};
}
inline void SetRedisBloomMarks(FilterParams& params, const RedisBloomMarks& marks) {
  params.own.Set(kRedisBloomOptions, marks.options);
  params.own.Set(kRedisBloomGrowth, marks.growth);
}

}  // namespace bitsieve::core
