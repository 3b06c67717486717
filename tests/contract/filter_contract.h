// filter_contract.h: what every family promises is tested once, for all of them: the list of families and the helpers.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/families/window/window_type.h"
#include "core/filter/filter_factory.h"
#include "tests/support/filter_types.h"
#include "tests/support/key_source.h"
#include "tests/support/manual_clock.h"
#include "tests/support/slowdown.h"

namespace bitsieve::test {

// Returns a clock that stands still, so that equal filters have equal bytes.
inline const core::Clock& StillClock() {
  static const ManualClock clock;
  return clock;
}

// Parameters that fit the type.
inline core::FilterParams ParamsOf(core::FilterType type, double rate, uint64_t capacity, uint32_t expansion,
                                   uint64_t seed) {
  core::FilterParams params;
  params.type = type;
  params.error_rate = rate;
  params.capacity = capacity;
  params.expansion = expansion;
  params.seed = seed;
  SetRequiredParams(params);  // a window as large as the test's items
  // A table of fingerprints is never full to the last slot, and how full it gets is a matter of chance.
  if (type == core::kRedisCuckooType) {
    params.capacity = 2 * capacity;
    core::SetRedisCuckooParams(params, {4, 500});
  }
  core::ShareForStatedCapacity(params);
  return params;
}

class FilterContract : public testing::TestWithParam<core::FilterType> {
 protected:
  std::unique_ptr<core::Filter> Make(double rate, uint64_t capacity, uint32_t expansion, uint64_t seed) {
    auto filter = core::MakeFilter(ParamsOf(GetParam(), rate, capacity, expansion, seed), budget_, StillClock());
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }

  // Such a type does not grow, and keeps no more than its capacity: what the others must do beyond that does not apply
  // to it.
  static bool Forgets() { return GetParam() == core::kWindowType; }
  // Such a type stores something for every addition, so repeated ones need room too, and its rate falls as its load
  // does.
  static bool KeepsFingerprints() { return GetParam() == core::kCuckooType; }

  // Such a type grows otherwise than by further sub-filters.
  static bool HasNoSubFilters() { return GetParam() == core::kRibbonType; }

  // Such a type is another product's, to the bit: it reports the size that the product reports, and plain double
  // hashing adds to its rate.
  static bool IsAnothersBloom() { return GetParam() == core::kRedisBloomType || GetParam() == core::kValkeyBloomType; }

  // Such a type has the rate that its layout gives: promises about a requested rate do not apply to it. But the rate it
  // reports must be true.
  static bool HasAFixedRate() { return GetParam() == core::kRedisCuckooType; }

  static std::vector<core::KeyHash> Hashes(const core::Filter& filter, KeySource source, uint64_t first, size_t count) {
    std::vector<core::KeyHash> hashes(count);
    for (size_t i = 0; i < count; ++i) hashes[i] = filter.HashOf(Key(source, first + i));
    return hashes;
  }

  // Items [first, first + count) of the source.
  static void Add(core::Filter& filter, KeySource source, uint64_t first, uint64_t count) {
    ForBatches(first, count, [&](uint64_t start, size_t size) {
      std::vector<core::AddOutcome> outcomes(size);
      EXPECT_EQ(filter.Add(Hashes(filter, source, start, size), outcomes), size);
    });
  }
  static uint64_t CountFound(const core::Filter& filter, KeySource source, uint64_t first, uint64_t count) {
    uint64_t found = 0;
    ForBatches(first, count, [&](uint64_t start, size_t size) {
      std::vector<uint8_t> present(size);
      filter.MayContain(Hashes(filter, source, start, size), present);
      for (const uint8_t yes : present) found += yes;
    });
    return found;
  }

  core::MemoryBudget budget_;

 private:
  template <class Use>
  static void ForBatches(uint64_t first, uint64_t count, const Use& use) {
    constexpr uint64_t kBatch = 256;
    for (uint64_t i = 0; i < count; i += kBatch) use(first + i, std::min(kBatch, count - i));
  }
};

inline constexpr uint64_t kAbsent = uint64_t{1} << 40;  // items from here on are never added

inline std::vector<core::FilterType> AllTypes() {
  std::vector<core::FilterType> types;
  for (const core::FilterTypeRow* row : core::FilterTypes()) types.push_back(row->type);
  return types;
}

#define BITSIEVE_FOR_ALL_KINDS(suite)                                                 \
  INSTANTIATE_TEST_SUITE_P(Types, suite, testing::ValuesIn(AllTypes()),               \
                           [](const testing::TestParamInfo<core::FilterType>& test) { \
                             return std::string(core::FilterTypeName(test.param));    \
                           })

}  // namespace bitsieve::test
