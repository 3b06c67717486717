// every_option.h: parameters of every kind with every option that it has, all small so that they grow or fill soon.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "core/filters/filter_factory.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {

struct OptionCase {
  std::string name;
  core::FilterParams params;

  friend void PrintTo(const OptionCase& each, std::ostream* out) { *out << each.name; }
};

// The kind's name and what is special about the case.
inline std::vector<OptionCase> EveryOption(uint64_t capacity) {
  using core::FilterKind;
  std::vector<OptionCase> cases;
  const auto add = [&](FilterKind kind, const std::string& what, uint32_t expansion, auto change) {
    core::FilterParams params = ParamsOf(kind, 0.01, capacity, expansion, 42);
    change(params);
    cases.push_back({std::string(core::FilterKindName(kind)) + "_" + what, params});
  };
  const auto nothing = [](core::FilterParams&) {};
  for (const FilterKind kind : AllKinds()) {
    add(kind, "fixed", 0, nothing);
    if (kind == FilterKind::kWindow) continue;
    add(kind, "growing", 2, nothing);
    add(kind, "growing_by_equal_links", 1, [](auto& params) { core::ShareForGrowth(params); });
    add(kind, "of_low_rate", 2, [](auto& params) { params.error_rate = 1e-5; });
    if (!core::HashIsChosen(kind)) continue;
    for (const core::HashKindRow& row : core::kHashKinds) {
      add(kind, "hashed_by_" + std::string(row.name), 2, [&](auto& params) { params.hash = row.kind; });
    }
  }
  for (const uint32_t expansion : {0U, 2U}) {
    const std::string how = expansion == 0 ? "_fixed" : "_growing";
    add(FilterKind::kCounting, "of_8_bits" + how, expansion, [](auto& params) { params.counter_bits = 8; });
    for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kRedisCuckoo}) {
      add(kind, "of_buckets_of_2" + how, expansion, [](auto& params) {
        params.bucket_size = 2;
        params.max_iterations = 20;
      });
    }
    add(FilterKind::kRedisBloom, "of_powers_of_two" + how, expansion, [](auto& params) {
      params.redisbloom.options = 0;
      params.hash = core::HashKind::kRedisBloom32;
    });
  }
  add(FilterKind::kWindow, "of_time", 0, [](auto& params) { params.window = {.duration_ms = 1000}; });
  return cases;
}

}  // namespace bitsieve::test
