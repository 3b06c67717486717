#include "core/hash/key_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace bitsieve::core {
namespace {

// Persisted filters depend on these. A difference here means that every filter on every disk would answer wrongly.
TEST(KeyHash, GoldenValues) {
  const auto expect = [](std::string_view item, uint64_t seed, uint64_t low, uint64_t high) {
    const KeyHash hash = HashItem(item, seed);
    EXPECT_EQ(hash.low, low) << item << " " << seed << std::hex << " is " << hash.low;
    EXPECT_EQ(hash.high, high) << item << " " << seed << std::hex << " is " << hash.high;
  };
  expect("", 0, 0x6001c324468d497fULL, 0x99aa06d3014798d8ULL);   // as the hash's authors publish them
  expect("a", 0, 0xe6c632b61e964e1fULL, 0xa96faf705af16834ULL);  // likewise
  expect("foo", 1, 0x54557a2c8b633298ULL, 0x1f7d80a3c77845d4ULL);
  expect("item1", 0x123456789abcdef0ULL, 0xec492f9d73ee5ca8ULL, 0xf14c26dcac7838faULL);
  expect(std::string_view("\0\xff\n", 3), 7, 0xfc28ec6ea4710236ULL, 0x93d7eb5f934913cfULL);
  expect(std::string(300, 'x'), 9, 0x00d3621a26ed7fd2ULL, 0xb1021a0996f30864ULL);
}

TEST(KeyHash, SeedChangesBothHalves) {
  const KeyHash a = HashItem("item", 1);
  const KeyHash b = HashItem("item", 2);
  EXPECT_NE(a.low, b.low);
  EXPECT_NE(a.high, b.high);
}

TEST(HashItems, AreTheHashesOfEach) {
  const std::vector<std::string_view> items{"", "a", "item1", "key:000000000001", "another item"};
  for (const HashKind kind : {HashKind::kXxh3, HashKind::kMurmur3, HashKind::kSip, HashKind::kRedisBloom}) {
    for (size_t count = 0; count <= items.size(); ++count) {
      std::vector<KeyHash> hashes(count);
      HashItems(kind, std::span(items).first(count), 5, hashes);
      for (size_t i = 0; i < count; ++i) {
        EXPECT_EQ(hashes[i].low, HashItem(kind, items[i], 5).low) << items[i];
        EXPECT_EQ(hashes[i].high, HashItem(kind, items[i], 5).high) << items[i];
      }
    }
  }
}

TEST(MultiplyHigh, MapsOntoTheWholeInterval) {
  EXPECT_EQ(MultiplyHigh(0, 10), 0U);
  EXPECT_EQ(MultiplyHigh(UINT64_MAX, 10), 9U);
  EXPECT_EQ(MultiplyHigh(uint64_t{1} << 63, 10), 5U);
  EXPECT_EQ(MultiplyHigh(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
}

}  // namespace
}  // namespace bitsieve::core
