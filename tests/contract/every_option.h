// every_option.h: parameters of every type with every option that it has, all small so that they grow or fill soon.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/expiring/expiring_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/window/window_type.h"
#include "core/filter/filter_factory.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {

struct OptionCase {
  std::string name;
  core::FilterParams params;

  friend void PrintTo(const OptionCase& each, std::ostream* out) { *out << each.name; }
};

// The type's name and what is special about the case.
inline std::vector<OptionCase> EveryOption(uint64_t capacity) {
  using core::FilterType;
  std::vector<OptionCase> cases;
  const auto add = [&](FilterType type, const std::string& what, uint32_t expansion, auto change) {
    core::FilterParams params = ParamsOf(type, 0.01, capacity, expansion, 42);
    change(params);
    cases.push_back({std::string(core::FilterTypeName(type)) + "_" + what, params});
  };
  const auto nothing = [](core::FilterParams&) {};
  for (const FilterType type : AllTypes()) {
    add(type, "fixed", 0, nothing);
    if (!core::FindFilterType(type)->can.grow) continue;
    add(type, "growing", 2, nothing);
    add(type, "growing_by_equal_sub_filters", 1, [](auto& params) { core::ShareForGrowth(params); });
    add(type, "of_low_rate", 2, [](auto& params) { params.error_rate = 1e-5; });
    if (!core::FindFilterType(type)->made.any_hash) continue;
    for (const core::HashKindRow& row : core::kHashKinds) {
      add(type, "hashed_by_" + std::string(row.name), 2, [&](auto& params) { params.hash = row.kind; });
    }
  }
  for (const uint32_t expansion : {0U, 2U}) {
    const std::string how = expansion == 0 ? "_fixed" : "_growing";
    add(core::kCountingType, "of_8_bits" + how, expansion, [](auto& params) { core::SetCounterBits(params, 8); });
    add(core::kCuckooType, "of_buckets_of_2" + how, expansion, [](auto& params) {
      core::SetBucketSize(params, 2);
      core::SetMaxIterations(params, 20);
    });
    add(core::kRedisCuckooType, "of_buckets_of_2" + how, expansion, [](auto& params) {
      core::SetRedisCuckooParams(params, {2, 20});
    });
    add(core::kRedisBloomType, "of_powers_of_two" + how, expansion, [](auto& params) {
      core::SetRedisBloomMarks(params, {.options = 0});
      params.hash = core::HashKind::kRedisBloom32;
    });
    add(core::kValkeyBloomType, "of_fixed_seed" + how, expansion, [](auto& params) { params.seed = 0; });
    add(core::kValkeyBloomType, "of_high_rate" + how, expansion, [](auto& params) { params.error_rate = 0.9; });
  }
  for (const uint32_t expansion : {0U, 2U}) {
    const std::string how = expansion == 0 ? "_fixed" : "_growing";
    add(core::kExpiringType, "soon" + how, expansion, [](auto& params) { core::SetTtlMs(params, 1000); });
    add(core::kExpiringType, "soon_with_8_bits" + how, expansion, [](auto& params) {
      core::SetTtlMs(params, 1000);
      params.own.Set(core::kEpochBits, 8);
    });
    add(core::kExpiringType, "without_renewal" + how, expansion,
        [](auto& params) { core::SetRenewsItems(params, false); });
  }
  add(core::kWindowType, "of_time", 0, [](auto& params) { core::SetWindow(params, {.duration_ms = 1000}); });
  return cases;
}

}  // namespace bitsieve::test
