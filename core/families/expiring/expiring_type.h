// expiring_type.h: the filter type expiring and its parameters of its own. Thread-safe: constants and pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "core/families/expiring/epochs.h"
#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

inline constexpr FilterType kExpiringType{10};
extern const FilterTypeRow kExpiringRow;

inline constexpr uint64_t kMinTtlMs = 100;
inline constexpr uint64_t kMaxTtlMs = 10ULL * 365 * 24 * 3600 * 1000;

// The parameters of the type. The time to live has no default: 0 is none.
inline constexpr std::array<uint64_t, 2> kEpochBitsChoices{4, 8};
inline constexpr OwnParam kTtlMs{
    .number = 1, .name = "time to live in milliseconds", .default_value = 0, .min = kMinTtlMs, .max = kMaxTtlMs};
inline constexpr OwnParam kEpochBits{
    .number = 2, .name = "epoch bits", .default_value = 4, .min = 4, .max = 8, .only = kEpochBitsChoices};
inline constexpr OwnParam kRenew{.number = 3, .name = "renew", .default_value = 1, .max = 1};

inline uint64_t TtlMsOf(const FilterParams& params) { return params.own.Get(kTtlMs); }
inline void SetTtlMs(FilterParams& params, uint64_t ms) { params.own.Set(kTtlMs, ms); }
inline bool RenewsItems(const FilterParams& params) { return params.own.Get(kRenew) != 0; }
inline void SetRenewsItems(FilterParams& params, bool renews) { params.own.Set(kRenew, renews ? 1 : 0); }
// The parameters are valid.
inline Epochs EpochsOf(const FilterParams& params) {
  return {TtlMsOf(params), static_cast<uint32_t>(params.own.Get(kEpochBits))};
}

}  // namespace bitsieve::core
