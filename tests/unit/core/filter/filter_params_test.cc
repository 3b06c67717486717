#include "core/filter/filter_params.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <thread>
#include <vector>

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

TEST(FilterParams, AParameterOfAnotherTypeIsRefused) {
  FilterParams params;
  SetCounterBits(params, 8);
  const Status blocked = Validate(params);
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().message, "a filter of type blocked cannot have 8 for a parameter with the number 1");
  params.type = kCountingType;
  EXPECT_TRUE(Validate(params));
  params.own = {};
  params.own.Append({kCounterBits.number, kCounterBits.default_value});
  EXPECT_FALSE(Validate(params)) << "a default is not stored: equal parameters must be equal bytes";
  params.own = {};
  params.own.Append({kCounterBits.number, 5});
  EXPECT_EQ(Validate(params).error().message, "counter bits must be 4 or 8");
}

TEST(FilterParams, TypedParametersComeBackFromTheirBytes) {
  FilterParams params;
  params.type = kCountingType;
  params.seed = 0x123456789abcdef0;
  for (const uint32_t bits : {4U, 8U}) {
    SetCounterBits(params, bits);
    std::string bytes;
    ByteWriter out(bytes);
    PutTypedParams(out, params);
    ByteReader in(bytes);
    EXPECT_EQ(GetTypedParams(in), params);
    EXPECT_TRUE(in.ok() && in.AtEnd());
    EXPECT_EQ(bytes.size() % 16, 50U % 16) << "a header must not lose its alignment by a pair";
    for (size_t size = 0; size < bytes.size(); ++size) {
      ByteReader cut(std::string_view(bytes).substr(0, size));
      GetTypedParams(cut);
      EXPECT_FALSE(cut.ok()) << size;
    }
  }
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

TEST(RandomSeed, DiffersFromCallToCallAndFromThreadToThread) {
  constexpr size_t kThreads = 4;
  constexpr size_t kCalls = 1000;
  std::vector<std::vector<uint64_t>> drawn(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<uint64_t>& mine : drawn) {
    threads.emplace_back([&mine] { std::generate_n(std::back_inserter(mine), kCalls, RandomSeed); });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> seeds;
  for (const std::vector<uint64_t>& mine : drawn) seeds.insert(mine.begin(), mine.end());
  EXPECT_EQ(seeds.size(), kThreads * kCalls);
}

}  // namespace
}  // namespace bitsieve::core
