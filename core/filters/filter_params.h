// filter_params.h: all that determines an empty filter. Two filters made from equal parameters answer alike.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/filters/filter_kind.h"
#include "core/hash/hash_kind.h"

namespace bitsieve::core {

inline constexpr uint64_t kMaxCapacity = uint64_t{1} << 30;  // items of a first link, as RedisBloom has it
inline constexpr uint32_t kMaxExpansion = 32768;
inline constexpr double kMaxErrorRate = 0.25;  // rates above are used as this one, as RedisBloom does
inline constexpr double kMinErrorRate = 1e-9;  // below, hash and pattern would no longer keep the promise
inline constexpr double kDefaultTighteningRatio = 0.8;
inline constexpr double kReservedFirstLinkShare = 0.8;
inline constexpr uint32_t kDefaultCounterBits = 4;
inline constexpr uint32_t kMinBucketSize = 2;  // buckets of one slot are not even half full when inserting fails
inline constexpr uint32_t kMaxBucketSize = 8;  // more would only cost fingerprint bits
inline constexpr uint32_t kDefaultBucketSize = 4;
inline constexpr uint32_t kMaxMaxIterations = 65535;
inline constexpr uint32_t kDefaultMaxIterations = 2000;
inline constexpr uint32_t kMaxRedisCuckooBucketSize = 255;
inline constexpr uint32_t kMaxRedisCuckooIterations = 65535;
inline constexpr uint64_t kMaxRedisCuckooCapacity = uint64_t{1} << 50;  // slots: as many bytes

// What a filter of the kind `window` remembers: the last `items`, or all of the last `duration_ms`. One of them is 0;
// both are in every other kind.
struct WindowSpan {
  uint64_t items = 0;
  uint64_t duration_ms = 0;

  bool given() const { return items != 0 || duration_ms != 0; }
  bool of_time() const { return duration_ms != 0; }
  bool operator==(const WindowSpan&) const = default;
};
inline constexpr uint64_t kMinWindowMs = 100;
inline constexpr uint64_t kMaxWindowMs = 10ULL * 365 * 24 * 3600 * 1000;

// What the header of a filter of the kind redisbloom says beyond what these parameters tell: kept, so that it is
// written again as it was read.
struct RedisBloomMarks {
  uint32_t options = 1;  // of its option bits, those for rounding (1) and for capacities given as bits (2)
  uint32_t growth = 0;   // of a filter that does not grow; of others the expansion

  bool operator==(const RedisBloomMarks&) const = default;
};

// How the links of a chain share the asked error rate p: link 0 gets p * first_link_share; the others share the rest
// by the geometric law P_{i+1} = r * P_i, P_1 = p * (1 - first_link_share) * (1 - r). The sum stays below p whatever
// the number of links (Almeida, Baquero, Preguica, Hutchison, "Scalable Bloom Filters", 2007, section 3, with the
// first term set apart).
struct FilterParams {
  FilterKind kind = FilterKind::kBlocked;
  double error_rate = 0.01;  // asked for the whole filter, in [kMinErrorRate, kMaxErrorRate]
  uint64_t capacity = 100;   // items of link 0, in [1, kMaxCapacity]
  uint32_t expansion = 2;    // capacity of a link over that of the one before; 0: the filter does not grow
  double tightening_ratio = kDefaultTighteningRatio;  // r, in (0, 1)
  double first_link_share = kReservedFirstLinkShare;  // in (0, 1]; 1 only if the filter does not grow
  uint64_t seed = 0;
  HashKind hash = HashKind::kXxh3;  // one that HashIsChosen allows, or the kind's own
  WindowSpan window = {};  // kWindow alone; of items: as many as the capacity. It does not grow: expansion is 0
  uint32_t counter_bits = kDefaultCounterBits;  // 4 or 8; of the kind counting, and nothing to the others
  // Of the kinds cuckoo and rediscuckoo.
  uint32_t bucket_size = kDefaultBucketSize;        // slots of a bucket, in [kMinBucketSize, kMaxBucketSize]
                                                    // (rediscuckoo: [1, kMaxRedisCuckooBucketSize])
  uint32_t max_iterations = kDefaultMaxIterations;  // buckets that an addition looks at for a free slot, at least 1
                                                    // (rediscuckoo: prints that it moves)
  RedisBloomMarks redisbloom = {};                  // of the kind redisbloom alone

  bool scaling() const { return expansion != 0; }
};

// Whether filters of this kind may have any of kHashKinds; the others have the one hash that is theirs.
bool HashIsChosen(FilterKind kind);

// For a filter whose capacity somebody stated: growing is the exception, so link 0 gets most of the rate.
void ShareForStatedCapacity(FilterParams& params);
// For a filter that came to be by adding to a missing name: growing is expected, so the geometric law from link 0 on.
void ShareForGrowth(FilterParams& params);

// The rate of the link of this index, 0 for the first, when full: by the law above.
double RateOfLink(const FilterParams& params, uint32_t index);

// Items of a further link, behind one of `newest` and `total` in all: `expansion` times the newest one's, and at least
// a quarter of all before it, so that a chain cannot become long by small steps.
uint64_t CapacityOfNextLink(const FilterParams& params, uint64_t newest, uint64_t total);

// Puts what the kind has of its own, whatever was asked, in the place of seed, hash, tightening ratio and share.
FilterParams Settled(FilterParams params);

// kInvalidArgument names the first parameter that is out of its range.
Status Validate(const FilterParams& params);

// A seed from the system's randomness.
uint64_t RandomSeed();

}  // namespace bitsieve::core
