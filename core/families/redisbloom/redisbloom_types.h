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
struct RedisCuckooParams {
  uint32_t bucket_size;
  uint32_t max_iterations;
};
inline RedisCuckooParams RedisCuckooParamsOf(const FilterParams& params) {
  return {params.own.narrow[1], params.own.narrow[2]};
}
inline void SetRedisCuckooParams(FilterParams& params, const RedisCuckooParams& own) {
  params.own.narrow[1] = own.bucket_size;
  params.own.narrow[2] = own.max_iterations;
}

// For the type redisbloom: what a header holds besides the common parameters, kept so that it is written again as it
// was read.
struct RedisBloomMarks {
  uint32_t options = 1;  // of its option bits, those for rounding (1) and for capacities given as bits (2)
  uint32_t growth = 0;   // of a filter that does not grow; of others the expansion
};
inline RedisBloomMarks RedisBloomMarksOf(const FilterParams& params) {
  return {params.own.narrow[3], params.own.narrow[4]};
}
inline void SetRedisBloomMarks(FilterParams& params, const RedisBloomMarks& marks) {
  params.own.narrow[3] = marks.options;
  params.own.narrow[4] = marks.growth;
}

}  // namespace bitsieve::core
