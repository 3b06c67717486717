#include "core/hash/murmur_hash2.h"

#include <gtest/gtest.h>

#include "core/hash/key_hash.h"

namespace bitsieve::core {
namespace {

struct Vector {
  std::string_view item;
  uint64_t bloom_low, bloom_high, cuckoo;
};

// Hashes that RedisBloom computes: its published filters hold bits at these places.
constexpr Vector kVectors[] = {
    {"", 0x1ab11ea5a7b2c56e, 0xbbddcb5ab56dd547, 0x0000000000000000},
    {"a", 0x4292cee227b9150a, 0x7e9b527031f50c11, 0x071717d2d36b6b11},
    {"foo", 0x822b4f99b121f10d, 0x9d63d52a557f61c2, 0xcdde38358fd25b01},
    {"item1", 0xa053790e072b2e8b, 0x707e5d60182eb075, 0x7930a108c52a9032},
    {"12345678", 0x700bea34339441c4, 0x94ccce0994c5c064, 0x758f67d162b2d202},
    {"123456789", 0xb791da69f9d395e3, 0xabf3563d45e8173b, 0x4977490251674330},
};

TEST(MurmurHash64A, MakesRedisBloomsHashes) {
  for (const Vector& each : kVectors) {
    const KeyHash bloom = HashItem(HashKind::kRedisBloom, each.item, 1234);
    EXPECT_EQ(bloom.low, each.bloom_low) << each.item;
    EXPECT_EQ(bloom.high, each.bloom_high) << each.item;
    const KeyHash cuckoo = HashItem(HashKind::kRedisCuckoo, each.item, 1234);
    EXPECT_EQ(cuckoo.low, each.cuckoo) << each.item;
    EXPECT_EQ(cuckoo.high, each.cuckoo) << each.item;
  }
}

TEST(MurmurHash2, AnswersDifferForEveryLengthAndSeed) {
  EXPECT_EQ(MurmurHash2("", 0), 0U);
  EXPECT_NE(MurmurHash2("a", 0), MurmurHash2("a", 1));
  const std::string_view text = "abcdefghij";
  for (size_t a = 0; a <= text.size(); ++a) {
    for (size_t b = 0; b < a; ++b) EXPECT_NE(MurmurHash2(text.substr(0, a), 7), MurmurHash2(text.substr(0, b), 7));
  }
}

// The verification value by which SMHasher knows an implementation: the hash of the hashes of growing keys.
TEST(MurmurHash2, HasThePublishedVerificationValues) {
  std::string keys;
  std::string hashes32;
  std::string hashes64;
  for (int i = 0; i < 256; ++i) {
    const uint32_t hash32 = MurmurHash2(keys, static_cast<uint32_t>(256 - i));
    const uint64_t hash64 = MurmurHash64A(keys, static_cast<uint64_t>(256 - i));
    hashes32.append(reinterpret_cast<const char*>(&hash32), sizeof hash32);
    hashes64.append(reinterpret_cast<const char*>(&hash64), sizeof hash64);
    keys.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(MurmurHash2(hashes32, 0), 0x27864C1EU);
  EXPECT_EQ(static_cast<uint32_t>(MurmurHash64A(hashes64, 0)), 0x1F0D3804U);
}

}  // namespace
}  // namespace bitsieve::core
