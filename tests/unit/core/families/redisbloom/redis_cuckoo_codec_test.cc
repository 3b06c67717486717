#include "core/families/redisbloom/redis_cuckoo_codec.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/families/redisbloom/redisbloom_types.h"

namespace bitsieve::core {
namespace {

RedisCuckooHeader Good() {
  return {.items = 5, .buckets = 8, .deletes = 3, .filters = 2, .bucket_size = 2, .max_iterations = 20, .expansion = 4};
}

TEST(RedisCuckooHeader, GoesBothWays) {
  const std::string bytes = EncodeRedisCuckooHeader(Good());
  EXPECT_EQ(bytes, std::string("\5\0\0\0\0\0\0\0\10\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\2\0\24\0\4\0", 38));
  const auto header = DecodeRedisCuckooHeader(bytes);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(EncodeRedisCuckooHeader(*header), bytes);
  EXPECT_EQ(header->TableBytes(0), 16U);
  EXPECT_EQ(header->TableBytes(1), 64U);
  EXPECT_EQ(header->BodyBytes(), 80U);
}

TEST(RedisCuckooHeader, TheAddressThatRedisBloom22WroteBehindIsIgnored) {
  const std::string bytes = EncodeRedisCuckooHeader(Good());
  const auto header = DecodeRedisCuckooHeader(bytes + "\x10\x20\x30\x40\x55\x7f" + std::string(2, '\0'));
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(EncodeRedisCuckooHeader(*header), bytes);
}

TEST(RedisCuckooHeader, RedisBloom20IsToldFromDamage) {
  const auto header = DecodeRedisCuckooHeader(EncodeRedisCuckooHeader(Good()).substr(0, 32));
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, ErrorCode::kUnsupported);
}

TEST(RedisCuckooHeader, OtherLengthsAreRefused) {
  const std::string bytes = EncodeRedisCuckooHeader(Good()) + std::string(100, '\0');
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == 32 || size == 38 || size == 46) continue;
    const auto header = DecodeRedisCuckooHeader(bytes.substr(0, size));
    ASSERT_FALSE(header) << size;
    EXPECT_EQ(header.error().code, ErrorCode::kCorrupt);
  }
}

TEST(RedisCuckooHeader, EveryFieldIsChecked) {
  const auto refused = [](const std::function<void(RedisCuckooHeader&)>& change) {
    RedisCuckooHeader header = Good();
    change(header);
    const auto decoded = DecodeRedisCuckooHeader(EncodeRedisCuckooHeader(header));
    return !decoded && decoded.error().code == ErrorCode::kCorrupt;
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_FALSE(refused([](auto& h) { h.items = 80; }));
  EXPECT_TRUE(refused([](auto& h) { h.items = 81; }));
  EXPECT_FALSE(refused([](auto& h) { h.deletes = UINT64_MAX; }));
  for (const uint64_t buckets : {uint64_t{0}, uint64_t{3}, uint64_t{9}, (uint64_t{1} << 56) - 1, uint64_t{1} << 56,
                                 uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_TRUE(refused([&](auto& h) { h.buckets = buckets; })) << buckets;
  }
  EXPECT_TRUE(refused([](auto& h) { h.filters = 0; }));
  EXPECT_TRUE(refused([](auto& h) { h.filters = 65536; }));
  EXPECT_TRUE(refused([](auto& h) { h.filters = uint64_t{1} << 48 | 1; }));  // cut to 16 bits it would be 1
  EXPECT_TRUE(refused([](auto& h) { h.filters = 100; }));                    // 4^99 times 8 buckets
  EXPECT_FALSE(refused([](auto& h) { h.filters = 65535, h.expansion = 1; }));
  EXPECT_TRUE(refused([](auto& h) { h.filters = 65535, h.expansion = 32768; }));
  EXPECT_TRUE(refused([](auto& h) { h.filters = 5, h.expansion = 32768; }));
  EXPECT_TRUE(refused([](auto& h) { h.bucket_size = 0; }));
  EXPECT_FALSE(refused([](auto& h) { h.bucket_size = 255; }));
  EXPECT_TRUE(refused([](auto& h) { h.bucket_size = 256; }));
  EXPECT_TRUE(refused([](auto& h) { h.max_iterations = 0; }));
  EXPECT_TRUE(refused([](auto& h) { h.expansion = 3; }));
  EXPECT_TRUE(refused([](auto& h) { h.expansion = 40000; }));
  EXPECT_TRUE(refused([](auto& h) { h.expansion = 0; }));  // with two sub-filters
  EXPECT_FALSE(refused([](auto& h) { h.expansion = 0, h.filters = 1; }));
}

TEST(RedisCuckooHeader, CapacityAndExpansionAreRoundedUpAsRedisBloomDoes) {
  const auto made = [](uint64_t capacity, uint32_t bucket_size, uint32_t expansion) {
    FilterParams params;
    params.type = kRedisCuckooType;
    params.capacity = capacity;
    SetRedisCuckooParams(params, {bucket_size, 500});
    params.expansion = expansion;
    const RedisCuckooHeader header = RedisCuckooHeaderFor(params);
    // Rounding a second time changes nothing.
    EXPECT_EQ(EncodeRedisCuckooHeader(RedisCuckooHeaderFor(RedisCuckooParamsFor(header))),
              EncodeRedisCuckooHeader(header));
    return std::pair(header.buckets, header.expansion);
  };
  EXPECT_EQ(made(1000, 2, 1), std::pair(uint64_t{512}, uint16_t{1}));
  EXPECT_EQ(made(1024, 2, 0), std::pair(uint64_t{512}, uint16_t{0}));
  EXPECT_EQ(made(1026, 2, 3), std::pair(uint64_t{1024}, uint16_t{4}));
  EXPECT_EQ(made(7, 3, 32768), std::pair(uint64_t{2}, uint16_t{32768}));
  EXPECT_EQ(made(1, 255, 20000), std::pair(uint64_t{1}, uint16_t{32768}));
}

TEST(RedisCuckooHeader, MemoryIsAskedForBeforeAnythingIsThere) {
  RedisCuckooHeader header = Good();
  header.buckets = uint64_t{1} << 40;
  const auto decoded = DecodeRedisCuckooHeader(EncodeRedisCuckooHeader(header));
  ASSERT_TRUE(decoded) << decoded.error().message;
  MemoryBudget small(1 << 20);
  const auto decoder = OpenRedisCuckooDump(*decoded, small);
  ASSERT_FALSE(decoder);
  EXPECT_EQ(decoder.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(small.used_bytes(), 0U);
}

}  // namespace
}  // namespace bitsieve::core
