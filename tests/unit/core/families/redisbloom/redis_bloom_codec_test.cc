// Hostile headers of RedisBloom: each claim is checked before anything depends on it.
#include "core/families/redisbloom/redis_bloom_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/families/redisbloom/redis_bloom.h"
#include "core/families/redisbloom/redis_bloom_filter.h"
#include "tests/support/redis_bloom_header.h"

namespace bitsieve::core {
namespace {

using test::RedisBloomFields;
using test::RedisBloomSubFilterFields;

// Returns the reason for which the header of a good filter is refused, as corrupt, after `change`; "accepted" if it is
// not.
template <class Change>
std::string Refusal(Change change) {
  RedisBloomFields fields;
  change(fields);
  const auto header = DecodeRedisBloomHeader(fields.Encode(), ItemCounts::kSummed);
  if (header) return "accepted";
  EXPECT_EQ(header.error().code, ErrorCode::kCorrupt);
  return header.error().message;
}
template <class Change>
std::string SubFilterRefusal(Change change) {
  return Refusal([&](RedisBloomFields& fields) { change(fields.sub_filter[0]); });
}

TEST(RedisBloomHeader, GoodOneIsAccepted) {
  EXPECT_EQ(test::ToHex(RedisBloomFields().Encode()), test::kOneItemHeader);
  EXPECT_TRUE(DecodeRedisBloomHeader(RedisBloomFields().Encode(), ItemCounts::kSummed));
}

TEST(RedisBloomHeader, WrongLengthsAreRefused) {
  const std::string good = RedisBloomFields().Encode();
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(DecodeRedisBloomHeader(good.substr(0, size), ItemCounts::kSummed));
  EXPECT_FALSE(DecodeRedisBloomHeader(good + '\0', ItemCounts::kSummed));
  const std::string refusal = "RedisBloom header: its length does not match its number of filters";
  EXPECT_EQ(Refusal([](auto& f) { f.sub_filters = 2; }), refusal);
  EXPECT_EQ(Refusal([](auto& f) { f.sub_filter.resize(2); }), refusal);
}

TEST(RedisBloomHeader, NumberOfFiltersIsBounded) {
  const std::string refusal = "RedisBloom header: the number of filters is out of range";
  EXPECT_EQ(Refusal([](auto& f) { f.sub_filters = 0, f.sub_filter.clear(); }), refusal);
  EXPECT_EQ(Refusal([](auto& f) { f.sub_filters = UINT32_MAX; }), refusal);
  EXPECT_EQ(Refusal([](auto& f) { f.sub_filters = 4097; }), refusal);
}

TEST(RedisBloomHeader, OptionsAndGrowthAreBounded) {
  EXPECT_EQ(Refusal([](auto& f) { f.options = 16 + 5; }), "RedisBloom header: an option is unknown");
  EXPECT_EQ(Refusal([](auto& f) { f.growth = 32769; }), "RedisBloom header: the growth is out of range");
  EXPECT_EQ(Refusal([](auto& f) { f.growth = 0; }), "RedisBloom header: it is scaling, but its growth is 0");
  EXPECT_EQ(Refusal([](auto& f) { f.growth = 0, f.options = 13; }), "accepted");
}

TEST(RedisBloomHeader, SizesMustAddUp) {
  const std::string refusal = "RedisBloom header: the sizes of its filters do not add up to its total";
  EXPECT_EQ(Refusal([](auto& f) { f.items = 2; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.items = 0; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.items = UINT64_MAX; }),
            "RedisBloom header: filter 0 holds more items than it can");
}

TEST(RedisBloomHeader, BitsMustFitBytes) {
  const std::string refusal = "RedisBloom header: bits and bytes of filter 0 do not match";
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.bits = 63; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.bits = 0; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.bytes = 0, l.bits = 0; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.bytes = uint64_t{1} << 61, l.bits = 0; }), refusal);  // 8 times it is 0
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.bytes = (uint64_t{1} << 61) + 8, l.bits = 64; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.bytes = (uint64_t{1} << 53) + 8, l.bits = l.bytes * 8; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.n2 = 64; }), "RedisBloom header: n2 of filter 0 is out of range");
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.n2 = 255; }), "RedisBloom header: n2 of filter 0 is out of range");
}

TEST(RedisBloomHeader, ImpossibleShapesAreRefused) {
  const std::string refusal = "RedisBloom header: the shape of filter 0 is impossible";
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const double error : {0.0, -0.1, 1.0, 2.0, kNan, kInfinite, -kInfinite}) {
    EXPECT_EQ(SubFilterRefusal([=](auto& l) { l.error = error; }), refusal) << error;
  }
  // Probes that would take for ever: RedisBloom converts these to whatever its processor makes of them.
  for (const double bits_per_entry : {kNan, kInfinite, -kInfinite, -6.2, 0.0, 1e300, 3.1e9}) {
    for (const uint32_t hashes : {0U, 1U, 5U, uint32_t{INT32_MAX}, uint32_t{1} << 31, UINT32_MAX}) {
      EXPECT_EQ(SubFilterRefusal([=](auto& l) { l.bits_per_entry = bits_per_entry, l.hashes = hashes; }), refusal)
          << bits_per_entry << " " << hashes;
    }
  }
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.hashes = 6; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.hashes = 0; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.entries = 0; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.entries = 12; }), refusal);  // that takes more bits than there are
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.entries = UINT64_MAX; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.n2 = 7; }), refusal);  // positions beyond the bits
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.n2 = 63; }), refusal);
  EXPECT_EQ(SubFilterRefusal([](auto& l) { l.n2 = 6; }), "accepted");
}

TEST(RedisBloomHeader, AllSubFiltersTogetherAreBounded) {
  RedisBloomSubFilterFields big;
  big.bytes = uint64_t{1} << 52;
  big.bits = big.bytes * 8;
  big.items = 0;
  RedisBloomFields fields{.items = 0, .sub_filters = 2, .sub_filter = {big, big}};
  EXPECT_TRUE(DecodeRedisBloomHeader(fields.Encode(), ItemCounts::kSummed));
  fields.sub_filters = 3;
  fields.sub_filter.push_back(big);
  EXPECT_FALSE(DecodeRedisBloomHeader(fields.Encode(), ItemCounts::kSummed));

  // Probes of one lookup.
  RedisBloomSubFilterFields slow;
  slow.error = 1e-300;
  slow.bits_per_entry = RedisBloom::BitsPerEntry(slow.error);
  slow.hashes = RedisBloom::HashFunctions(slow.bits_per_entry);
  slow.bytes = 8192;
  slow.bits = 65536;
  slow.items = 0;
  fields = {.items = 0, .sub_filters = 1000, .sub_filter = std::vector(1000, slow)};
  EXPECT_TRUE(DecodeRedisBloomHeader(fields.Encode(), ItemCounts::kSummed));
  fields = {.items = 0, .sub_filters = 2000, .sub_filter = std::vector(2000, slow)};
  EXPECT_FALSE(DecodeRedisBloomHeader(fields.Encode(), ItemCounts::kSummed));
}

TEST(RedisBloomHeader, OldOnesAreKnownByTheirLength) {
  RedisBloomFields fields;
  fields.options = 0;
  fields.sub_filter[0].n2 = 6;
  for (const uint64_t bits : {0, 64}) {
    fields.sub_filter[0].bits = bits;
    const auto header = DecodeRedisBloomHeader(fields.EncodeOld(), ItemCounts::kSummed);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->params.expansion, 2U);
    EXPECT_EQ(header->params.hash, HashKind::kRedisBloom32);
    EXPECT_EQ(header->sub_filters[0].shape.bits, 64U);
  }
  fields.sub_filter[0].bits = 0;
  EXPECT_FALSE(DecodeRedisBloomHeader(fields.Encode(), ItemCounts::kSummed)) << "only an old one leaves bits empty";
  fields.sub_filter[0].n2 = 0;
  EXPECT_FALSE(DecodeRedisBloomHeader(fields.EncodeOld(), ItemCounts::kSummed)) << "and then it has positions";
  fields.sub_filter[0].n2 = 6;
  fields.sub_filter[0].bits = 32;
  EXPECT_FALSE(DecodeRedisBloomHeader(fields.EncodeOld(), ItemCounts::kSummed));
}

}  // namespace
}  // namespace bitsieve::core
