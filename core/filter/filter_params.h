// filter_params.h: all that determines an empty filter. Two filters made from equal parameters answer alike.
// Thread-safe: plain values and free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/filter/filter_type.h"
#include "core/filter/own_params.h"
#include "core/hash/hash_kind.h"

namespace bitsieve::core {

inline constexpr uint64_t kMaxCapacity = uint64_t{1} << 30;  // items of a first sub-filter, as RedisBloom has it
inline constexpr uint32_t kMaxExpansion = 32768;
inline constexpr uint32_t kMaxRedisCuckooBucketSize = 255;
inline constexpr uint32_t kMaxRedisCuckooIterations = 65535;
inline constexpr double kMaxErrorRate = 0.25;  // rates above are used as this one, as RedisBloom does
inline constexpr double kMinErrorRate = 1e-9;  // below, hash and pattern would no longer keep the promise
inline constexpr double kDefaultTighteningRatio = 0.8;
inline constexpr double kReservedFirstShare = 0.8;

// How the sub-filters of a chain share the requested error rate p: the first gets p * first_share; the others share the
// rest by the geometric law P_{i+1} = r * P_i, P_1 = p * (1 - first_share) * (1 - r). The sum stays below p for any
// number of sub-filters (Almeida, Baquero, Preguica, Hutchison, "Scalable Bloom Filters", 2007, section 3, with the
// first term set apart).
struct FilterParams {
  FilterType type = kDefaultFilterType;
  double error_rate = 0.01;  // requested for the whole filter, in [kMinErrorRate, kMaxErrorRate]
  uint64_t capacity = 100;   // items of the first sub-filter, in [1, kMaxCapacity]
  uint32_t expansion = 2;    // capacity of a sub-filter over that of the one before; 0: the filter does not grow
  double tightening_ratio = kDefaultTighteningRatio;  // r, in (0, 1)
  double first_share = kReservedFirstShare;           // in (0, 1]; 1 only if the filter does not grow
  uint64_t seed = 0;
  HashKind hash = HashKind::kXxh3;  // one that the type allows
  OwnParams own = {};

  bool scaling() const { return expansion != 0; }
  bool operator==(const FilterParams&) const = default;
};

// For a filter whose capacity was stated: growing is the exception, so the first sub-filter gets most of the rate.
void ShareForStatedCapacity(FilterParams& params);
// For a filter that adding to a missing name creates: growing is expected, so the geometric law holds from the first
// sub-filter on.
void ShareForGrowth(FilterParams& params);

// The rate of the sub-filter of this index, 0 for the first, when full: by the law above.
double RateOfSubFilter(const FilterParams& params, uint32_t index);

// Items of a further sub-filter, after one of `newest` and `total` in all: `expansion` times the newest one's, and at
// least a quarter of all before it, so that a chain cannot become long by small steps.
uint64_t CapacityOfNextSubFilter(const FilterParams& params, uint64_t newest, uint64_t total);

// Returns the parameters as their type settles them (FilterTypeRow::settle).
FilterParams Settled(FilterParams params);

// Returns the seed for people.
std::string SeedText(const FilterParams& params);

// kInvalidArgument names the first parameter that is out of its range.
Status Validate(const FilterParams& params);
// The part of it that holds for most types: rate, capacity, expansion, shares and hash.
Status ValidateCommon(const FilterParams& params);
Status ValidateExpansion(uint32_t expansion);
// kInvalidArgument.
tl::unexpected<Error> OutOfRange(std::string what);

// All parameters except for the type, to bytes and back. What is read may be impossible: Validate says so.
void PutParams(ByteWriter& out, const FilterParams& params);
FilterParams GetParams(ByteReader& in, FilterType type);
// The same with the type in front.
void PutTypedParams(ByteWriter& out, const FilterParams& params);
FilterParams GetTypedParams(ByteReader& in);

// Encodes the parameters of BF.MADE, with which bitsieve.so replicates an empty filter: a byte with the format, then
// all parameters.
std::string EncodeMadeParams(const FilterParams& params);
// Returns nothing if the bytes are not those of valid parameters.
std::optional<FilterParams> DecodeMadeParams(std::string_view bytes);

// A seed that cannot be foreseen: made from a secret of the calling thread, which comes from the system's randomness.
uint64_t RandomSeed();

}  // namespace bitsieve::core
