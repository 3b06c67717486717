#include "core/filter/filter_params.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/families/bloom/bloom_types.h"

namespace bitsieve::core {
namespace {

TEST(FilterParams, DefaultsAreValid) { EXPECT_TRUE(Validate(FilterParams{})); }

TEST(FilterParams, EachParameterHasItsRange) {
  const auto refused = [](auto change) {
    FilterParams params;
    change(params);
    const Status status = Validate(params);
    return !status && status.error().code == ErrorCode::kInvalidArgument;
  };
  EXPECT_TRUE(refused([](auto& p) { p.error_rate = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.error_rate = 1e-300; }));
  EXPECT_TRUE(refused([](auto& p) { p.error_rate = 0.26; }));
  EXPECT_TRUE(refused([](auto& p) { p.error_rate = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& p) { p.capacity = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.capacity = uint64_t{1} << 40; }));
  EXPECT_TRUE(refused([](auto& p) { p.expansion = kMaxExpansion + 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.tightening_ratio = 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.tightening_ratio = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.tightening_ratio = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& p) { p.first_share = 1; }));
  EXPECT_TRUE(refused([](auto& p) { p.first_share = 0; }));
  EXPECT_TRUE(refused([](auto& p) { p.type = static_cast<FilterType>(77); }));
  EXPECT_TRUE(refused([](auto& p) { p.type = kCountingType, SetCounterBits(p, 5); }));
  EXPECT_FALSE(refused([](auto& p) { p.type = kCountingType, SetCounterBits(p, 8); }));
  EXPECT_TRUE(refused([](auto& p) { p.hash = static_cast<HashKind>(0); }));
  EXPECT_TRUE(refused([](auto& p) { p.hash = HashKind::kRedisBloom; }));
  EXPECT_TRUE(refused([](auto& p) { p.type = kCountingType, p.hash = HashKind::kSip; }));
  EXPECT_FALSE(refused([](auto& p) { p.hash = HashKind::kSip; }));
  EXPECT_FALSE(refused([](auto& p) { p.type = kClassicType, p.hash = HashKind::kFnv1a; }));
  EXPECT_FALSE(refused([](auto& p) { p.expansion = 0, p.first_share = 1; }));
}

TEST(FilterParams, SharesFollowThePurpose) {
  FilterParams params;
  ShareForStatedCapacity(params);
  EXPECT_DOUBLE_EQ(params.first_share, 0.8);
  ShareForGrowth(params);
  EXPECT_DOUBLE_EQ(params.first_share, 1 - params.tightening_ratio);
  params.expansion = 0;
  ShareForStatedCapacity(params);
  EXPECT_DOUBLE_EQ(params.first_share, 1);
  ShareForGrowth(params);
  EXPECT_DOUBLE_EQ(params.first_share, 1);
}

TEST(RandomSeed, Differs) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 100; ++i) seeds.insert(RandomSeed());
  EXPECT_EQ(seeds.size(), 100U);
}

}  // namespace
}  // namespace bitsieve::core
