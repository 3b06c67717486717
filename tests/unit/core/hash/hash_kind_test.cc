#include "core/hash/hash_kind.h"

#include <gtest/gtest.h>

#include "core/hash/key_hash.h"

namespace bitsieve::core {
namespace {

TEST(HashKind, NamesAreFoundInAnyCase) {
  for (const HashKindRow& row : kHashKinds) {
    EXPECT_EQ(HashKindFromName(row.name), row.kind);
    EXPECT_EQ(HashKindName(row.kind), row.name);
  }
  EXPECT_EQ(HashKindFromName("SIP"), HashKind::kSip);
  EXPECT_EQ(HashKindFromName("md5"), std::nullopt);
  EXPECT_EQ(HashKindFromName(""), std::nullopt);
  EXPECT_EQ(HashKindName(HashKind::kRedisBloom), "unknown") << "it is of one kind of filter, and not to be chosen";
  EXPECT_EQ(HashKindNames(), "xxh3, murmur3, fnv1a, sip");
}

TEST(HashKind, NumbersAreForEver) {
  EXPECT_EQ(static_cast<int>(HashKind::kXxh3), 1);
  EXPECT_EQ(static_cast<int>(HashKind::kMurmur3), 2);
  EXPECT_EQ(static_cast<int>(HashKind::kFnv1a), 3);
  EXPECT_EQ(static_cast<int>(HashKind::kSip), 4);
}

// Persisted filters depend on these, as on those of xxh3.
TEST(HashKind, GoldenValues) {
  const auto expect = [](HashKind kind, uint64_t low, uint64_t high) {
    const KeyHash hash = HashItem(kind, "item1", 0x123456789abcdef0);
    EXPECT_EQ(hash.low, low) << HashKindName(kind) << std::hex << " 0x" << hash.low;
    EXPECT_EQ(hash.high, high) << HashKindName(kind) << std::hex << " 0x" << hash.high;
  };
  expect(HashKind::kXxh3, 0xec492f9d73ee5ca8, 0xf14c26dcac7838fa);
  expect(HashKind::kMurmur3, 0xa9fdcf177c125f25, 0xdc6b1d74df72e169);
  expect(HashKind::kFnv1a, 0xc357910bfac824a3, 0xb838fc23e2e99063);
  expect(HashKind::kSip, 0x4bf0a6942330c3f5, 0x3f46cb8580723c00);
}

}  // namespace
}  // namespace bitsieve::core
