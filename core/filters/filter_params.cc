#include "core/filters/filter_params.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace bitsieve::core {

namespace {

tl::unexpected<Error> OutOfRange(const std::string& what) { return Fail(ErrorCode::kInvalidArgument, what); }

bool IsKnown(FilterKind kind) {
  for (const FilterKindRow& row : kFilterKinds) {
    if (row.kind == kind) return true;
  }
  return false;
}

Status ValidateWindow(const FilterParams& params) {
  const WindowSpan& window = params.window;
  if (params.kind != FilterKind::kWindow) {
    return window.given() ? Status(OutOfRange("only a filter of type window has a window")) : Status();
  }
  if (!window.given()) return OutOfRange("a filter of type window needs a window: a number of items, or a duration");
  if (window.items != 0 && window.of_time()) return OutOfRange("a window is of items or of time, not of both");
  if (params.scaling()) return OutOfRange("a filter of type window does not grow: its expansion must be 0");
  if (!window.of_time() && window.items != params.capacity) {
    return OutOfRange("the capacity of a window of items must be the window, " + std::to_string(window.items));
  }
  if (window.of_time() && (window.duration_ms < kMinWindowMs || window.duration_ms > kMaxWindowMs)) {
    return OutOfRange("a window of time must be in the range [100ms, 3650d]");
  }
  return {};
}

bool HashFits(const FilterParams& params) {
  if (HashIsChosen(params.kind)) return HashKindName(params.hash) != "unknown";
  return params.hash == HashKind::kXxh3;
}

Status ValidateCuckoo(const FilterParams& params) {
  if (params.kind != FilterKind::kCuckoo) return {};
  if (params.bucket_size < kMinBucketSize || params.bucket_size > kMaxBucketSize) {
    return OutOfRange("bucket size must be in the range [" + std::to_string(kMinBucketSize) + ", " +
                      std::to_string(kMaxBucketSize) + "]");
  }
  if (params.max_iterations < 1 || params.max_iterations > kMaxMaxIterations) {
    return OutOfRange("max iterations must be in the range [1, " + std::to_string(kMaxMaxIterations) + "]");
  }
  return {};
}

// Wider ranges than those of other kinds: what RedisBloom has made must be readable.
Status ValidateRedisBloom(const FilterParams& params) {
  if (!(params.error_rate > 0 && params.error_rate < 1)) return OutOfRange("error rate must be in the range (0, 1)");
  if (params.capacity < 1) return OutOfRange("capacity must be at least 1");
  if (params.expansion > kMaxExpansion || params.redisbloom.growth > kMaxExpansion) {
    return OutOfRange("expansion must be in the range [0, " + std::to_string(kMaxExpansion) + "]");
  }
  if (params.hash != HashKind::kRedisBloom && params.hash != HashKind::kRedisBloom32) {
    return OutOfRange("a filter of type redisbloom has hash functions of its own");
  }
  return {};
}

// Its rate and its hash follow from the rest, and what was dumped may be larger than any that is reserved.
Status ValidateRedisCuckoo(const FilterParams& params) {
  if (params.bucket_size < 1 || params.bucket_size > kMaxRedisCuckooBucketSize) {
    return OutOfRange("bucket size must be in the range [1, 255]");
  }
  if (params.max_iterations < 1 || params.max_iterations > kMaxRedisCuckooIterations) {
    return OutOfRange("iterations must be in the range [1, 65535]");
  }
  if (params.capacity < 1 || params.capacity > kMaxRedisCuckooCapacity) {
    return OutOfRange("capacity must be in the range [1, " + std::to_string(kMaxRedisCuckooCapacity) + "]");
  }
  if (params.expansion > kMaxExpansion) return OutOfRange("expansion must be in the range [0, 32768]");
  return {};
}

}  // namespace

bool HashIsChosen(FilterKind kind) { return kind == FilterKind::kClassic || kind == FilterKind::kBlocked; }

void ShareForStatedCapacity(FilterParams& params) {
  params.first_link_share = params.scaling() ? kReservedFirstLinkShare : 1;
}

void ShareForGrowth(FilterParams& params) {
  params.first_link_share = params.scaling() ? 1 - params.tightening_ratio : 1;
}

double RateOfLink(const FilterParams& params, uint32_t index) {
  if (index == 0) return params.error_rate * params.first_link_share;
  const double rest = params.error_rate * (1 - params.first_link_share);
  return rest * (1 - params.tightening_ratio) * std::pow(params.tightening_ratio, index - 1);
}

uint64_t CapacityOfNextLink(const FilterParams& params, uint64_t newest, uint64_t total) {
  constexpr uint64_t kMaxLinkCapacity = uint64_t{1} << 48;  // beyond any memory, and no product of it overflows
  const uint64_t before = std::min(newest, kMaxLinkCapacity / kMaxExpansion);
  return std::min(kMaxLinkCapacity, std::max(before * params.expansion, total / 4));
}

FilterParams Settled(FilterParams params) {
  if (params.kind != FilterKind::kRedisBloom) return params;
  params.seed = 0;
  if (params.hash != HashKind::kRedisBloom32) params.hash = HashKind::kRedisBloom;
  params.tightening_ratio = 0.5;
  params.first_link_share = params.scaling() ? 0.5 : 1;
  return params;
}

Status Validate(const FilterParams& params) {
  if (!IsKnown(params.kind)) return OutOfRange("filter type must be one of " + std::string(FilterKindNames()));
  if (params.kind == FilterKind::kRedisBloom) {
    const Status status = ValidateRedisBloom(params);
    return status ? ValidateWindow(params) : status;
  }
  if (params.kind == FilterKind::kRedisCuckoo) return ValidateRedisCuckoo(params);
  if (!(params.error_rate >= kMinErrorRate && params.error_rate <= kMaxErrorRate)) {
    return OutOfRange("error rate must be in the range [1e-09, 0.25]");
  }
  if (params.capacity < 1 || params.capacity > kMaxCapacity) {
    return OutOfRange("capacity must be in the range [1, " + std::to_string(kMaxCapacity) + "]");
  }
  if (params.expansion > kMaxExpansion) {
    return OutOfRange("expansion must be in the range [0, " + std::to_string(kMaxExpansion) + "]");
  }
  if (!(params.tightening_ratio > 0 && params.tightening_ratio < 1)) {
    return OutOfRange("tightening ratio must be in the range (0, 1)");
  }
  const double share = params.first_link_share;
  if (!(share > 0 && share <= 1) || (params.scaling() && share == 1)) {
    return OutOfRange("first link's share of the error rate must be in the range (0, 1)");
  }
  if (params.kind == FilterKind::kCounting && params.counter_bits != 4 && params.counter_bits != 8) {
    return OutOfRange("counter bits must be 4 or 8");
  }
  if (!HashFits(params)) {
    return OutOfRange("the hash function is not one that a filter of type " + std::string(FilterKindName(params.kind)) +
                      " can have");
  }
  if (Status status = ValidateCuckoo(params); !status) return status;
  return ValidateWindow(params);
}

uint64_t RandomSeed() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

}  // namespace bitsieve::core
