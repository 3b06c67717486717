#include "core/families/bloom/chain_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/families/bloom/blocked_bloom.h"
#include "core/families/bloom/bloom_types.h"
#include "core/families/bloom/counting_bloom.h"
#include "core/filter/image_header.h"
#include "tests/support/reseal.h"

namespace bitsieve::core {
namespace {

using test::Reseal;

// The whole header, frame and all.
Result<ChainHeader> Decode(const std::string& bytes) {
  const Result<HeaderFrame> frame = OpenHeader(bytes);
  if (!frame) return tl::unexpected(frame.error());
  return DecodeChainHeader(frame->fields, frame->type.type == kCountingType ? kCountingChain : kBlockedChain);
}

FilterParams SomeParams() {
  FilterParams params;
  params.error_rate = 0.001;
  params.capacity = 1000;
  params.expansion = 4;
  params.tightening_ratio = 0.7;
  params.seed = 0xFEDCBA9876543210ULL;
  params.hash = HashKind::kSip;
  return params;
}

std::vector<SubFilterRecord> SomeSubFilters() {
  return {{BlockedBloom::ShapeFor(1000, 8e-4), 1000}, {BlockedBloom::ShapeFor(4000, 6e-5), 17}};
}

TEST(ChainHeader, RoundTrip) {
  const auto header = Decode(EncodeChainHeader(SomeParams(), SomeSubFilters()));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->params.type, kBlockedType);
  EXPECT_EQ(header->params.error_rate, 0.001);
  EXPECT_EQ(header->params.capacity, 1000U);
  EXPECT_EQ(header->params.expansion, 4U);
  EXPECT_EQ(header->params.tightening_ratio, 0.7);
  EXPECT_EQ(header->params.first_share, 0.8);
  EXPECT_EQ(header->params.seed, 0xFEDCBA9876543210ULL);
  EXPECT_EQ(header->params.hash, HashKind::kSip);
  ASSERT_EQ(header->sub_filters.size(), 2U);
  EXPECT_EQ(header->sub_filters[1].shape, SomeSubFilters()[1].shape);
  EXPECT_EQ(header->sub_filters[1].items, 17U);
}

TEST(ChainHeader, EveryDamagedByteIsNoticed) {
  const std::string good = EncodeChainHeader(SomeParams(), SomeSubFilters());
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      EXPECT_FALSE(Decode(bad)) << i;
    }
  }
}

TEST(ChainHeader, EveryTruncationAndExtensionIsNoticed) {
  const std::string good = EncodeChainHeader(SomeParams(), SomeSubFilters());
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(Decode(good.substr(0, size))) << size;
  EXPECT_FALSE(Decode(good + '\0'));
}

TEST(ChainHeader, HostileFieldsAreRefusedBehindARightChecksum) {
  const std::string good = EncodeChainHeader(SomeParams(), SomeSubFilters());
  ASSERT_TRUE(Decode(Reseal(good)));
  const auto with = [&](size_t offset, auto value) {
    std::string bad = good;
    std::memcpy(bad.data() + offset, &value, sizeof value);
    const auto header = Decode(Reseal(bad));
    return header ? "accepted" : header.error().message;
  };
  constexpr size_t kSubFilters = 60;  // where the first sub-filter starts
  EXPECT_THAT(with(4, uint16_t{4}), testing::HasSubstr("version 4 is not supported"));
  EXPECT_THAT(with(6, uint16_t{99}), testing::HasSubstr("type 99 is unknown"));
  EXPECT_THAT(with(8, 1e-300), testing::HasSubstr("error rate"));
  EXPECT_THAT(with(16, uint64_t{0}), testing::HasSubstr("capacity"));
  EXPECT_THAT(with(24, uint32_t{40000}), testing::HasSubstr("expansion"));
  EXPECT_THAT(with(28, 1.5), testing::HasSubstr("tightening"));
  EXPECT_THAT(with(52, uint32_t{0}), testing::HasSubstr("hash function"));
  EXPECT_THAT(with(52, uint32_t{5}), testing::HasSubstr("a filter of type blocked cannot have this hash function"));
  EXPECT_THAT(with(52, uint32_t{257}), testing::HasSubstr("hash function"));
  EXPECT_THAT(with(56, uint32_t{0}), testing::HasSubstr("no sub-filters"));
  EXPECT_THAT(with(56, uint32_t{3}), testing::HasSubstr("ends within sub-filter 2"));
  EXPECT_THAT(with(56, uint32_t{1}), testing::HasSubstr("bytes follow"));
  EXPECT_THAT(with(56, UINT32_MAX), testing::HasSubstr("number of sub-filters"));
  EXPECT_THAT(with(kSubFilters + 16, uint64_t{1} << 62), testing::HasSubstr("too large"));
  EXPECT_THAT(with(kSubFilters + 16, uint64_t{513}), testing::HasSubstr("impossible"));
  EXPECT_THAT(with(kSubFilters + 24, uint32_t{17}), testing::HasSubstr("impossible"));
  EXPECT_THAT(with(kSubFilters + 32, uint64_t{1001}), testing::HasSubstr("more items than it can"));
}

TEST(ChainHeader, CounterBitsComeBackAndAreChecked) {
  FilterParams params = SomeParams();
  params.type = kCountingType;
  params.hash = HashKind::kXxh3;
  SetCounterBits(params, 8);
  const auto shape = [](uint32_t bits) { return CountingBloom::ShapeFor(1000, 8e-4, bits); };
  // Repeated additions may be more than the capacity.
  const std::string good = EncodeChainHeader(params, {{shape(8), 1001}, {shape(8), 3}});
  const auto header = Decode(good);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(CounterBitsOf(header->params), 8U);
  EXPECT_EQ(header->sub_filters[0].shape, shape(8));
  EXPECT_EQ(header->sub_filters[0].items, 1001U);
  const auto refusal = [](const std::string& bytes) {
    const auto decoded = Decode(Reseal(bytes));
    return decoded ? "accepted" : decoded.error().message;
  };
  EXPECT_THAT(refusal(EncodeChainHeader(params, {{shape(8), 1}, {shape(4), 3}})), testing::HasSubstr("differ"));
  std::string bad = good;
  bad[76 + 28] = 5;
  EXPECT_THAT(refusal(bad), testing::HasSubstr("impossible"));
  EXPECT_THAT(refusal(EncodeChainHeader(params, {{shape(8), uint64_t{1} << 61}})),
              testing::HasSubstr("more items than"));
}

}  // namespace
}  // namespace bitsieve::core
