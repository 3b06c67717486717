// The contract of types whose hash function can be chosen, under each of the functions: no false negative, and the
// requested error rate, for items as users have them. Counters and URLs that differ only in their last digits are hard
// for weak functions.
#include <cmath>
#include <tuple>

#include "core/families/bloom/bloom_types.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {
namespace {

using core::FilterType;
using core::HashKind;

// Returns a long item with a common head: several blocks of each function come before the bytes that differ.
std::string LongUrl(uint64_t i) {
  return "https://example.org/a/rather/long/path/that/all/of/them/share/item/" + std::to_string(i) + ".html";
}
std::string Counter(uint64_t i) { return std::to_string(i); }
std::string Integer(uint64_t i) { return Key(KeySource::kSequentialIntegers, i); }
// Returns a key of a table: a high-order prefix, then a counter that steps by a power of two.
std::string Stepped(uint64_t i) { return "user:" + Integer(i << 12); }

struct Items {
  const char* name;
  std::string (*item)(uint64_t);
};
constexpr Items kItemShapes[] = {
    {"counters", Counter}, {"integers", Integer}, {"long URLs", LongUrl}, {"steps", Stepped}};

class HashContract : public testing::TestWithParam<std::tuple<FilterType, HashKind>> {
 protected:
  std::unique_ptr<core::Filter> Make(double rate, uint64_t capacity, uint64_t seed) {
    const auto [kind, hash] = GetParam();
    core::FilterParams params = ParamsOf(kind, rate, capacity, 0, seed);
    params.hash = hash;
    auto filter = core::MakeFilter(params, budget_, StillClock());
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }
  static void Add(core::Filter& filter, const Items& items, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const core::KeyHash hash = filter.HashOf(items.item(i));
      core::AddOutcome outcome;
      filter.Add({&hash, 1}, {&outcome, 1});
    }
  }
  static uint64_t CountFound(const core::Filter& filter, const Items& items, uint64_t first, uint64_t count) {
    uint64_t found = 0;
    for (uint64_t i = first; i < first + count; ++i) {
      const core::KeyHash hash = filter.HashOf(items.item(i));
      uint8_t present = 0;
      filter.MayContain({&hash, 1}, {&present, 1});
      found += present;
    }
    return found;
  }

  core::MemoryBudget budget_;
};

std::string NameOf(const testing::TestParamInfo<HashContract::ParamType>& tested) {
  const auto [kind, hash] = tested.param;
  return std::string(core::FilterTypeName(kind)) + "_" + std::string(core::HashKindName(hash));
}

INSTANTIATE_TEST_SUITE_P(Hashes, HashContract,
                         testing::Combine(testing::Values(core::kClassicType, core::kBlockedType),
                                          testing::Values(HashKind::kXxh3, HashKind::kMurmur3, HashKind::kFnv1a,
                                                          HashKind::kSip)),
                         NameOf);

// Absent items come right after those that were added: they differ from them in the last digits.
TEST_P(HashContract, TheRateIsKeptForStructuredKeys) {
  for (const Items& items : kItemShapes) {
    for (const double rate : {0.01, 1e-3, 1e-4}) {
      constexpr uint64_t kAdded = 50'000 / kSlowdown;
      constexpr uint64_t kProbes = 500'000 / kSlowdown;
      const auto filter = Make(rate, kAdded, 17);
      Add(*filter, items, kAdded);
      EXPECT_EQ(CountFound(*filter, items, 0, kAdded), kAdded) << items.name;
      const auto wrong = static_cast<double>(CountFound(*filter, items, kAdded, kProbes));
      const double expected = static_cast<double>(kProbes) * rate;
      EXPECT_LE(wrong, 1.02 * expected + 4 * std::sqrt(expected) + 1) << items.name << " at " << rate;
    }
  }
}

// Few items in few lines: a function that crowds them together misses the rate here first.
TEST_P(HashContract, TheRateIsKeptBySmallFilters) {
  for (const Items& items : kItemShapes) {
    constexpr uint64_t kFilters = 200 / kSlowdown;
    constexpr uint64_t kProbes = 2'000;
    uint64_t wrong = 0;
    for (uint64_t seed = 0; seed < kFilters; ++seed) {
      const auto filter = Make(0.01, 200, seed);
      Add(*filter, items, 200);
      wrong += CountFound(*filter, items, 200, kProbes);
    }
    // Filters differ among themselves, which is most of the deviation.
    const double expected = static_cast<double>(kFilters * kProbes) * 0.01;
    EXPECT_LE(static_cast<double>(wrong), 1.02 * expected + 12 * std::sqrt(expected)) << items.name;
  }
}

TEST_P(HashContract, ComesBackFromItsImage) {
  const auto filter = Make(0.01, 1000, 3);
  Add(*filter, kItemShapes[0], 1000);
  const auto copy = core::CloneFilter(*filter, budget_, StillClock());
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_EQ((*copy)->params().hash, filter->params().hash);
  EXPECT_EQ(CountFound(**copy, kItemShapes[0], 0, 1000), 1000U);
}

}  // namespace
}  // namespace bitsieve::test
