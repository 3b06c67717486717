#include "core/hash/sip_hash.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace bitsieve::core {
namespace {

std::string Hex(const KeyHash& hash) {
  std::string hex;
  for (const uint64_t half : {hash.low, hash.high}) {
    for (int byte = 0; byte < 8; ++byte) {
      char text[3];
      std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(half >> (8 * byte) & 0xFF));
      hex += text;
    }
  }
  return hex;
}

// These are some of the vectors that its authors publish: the key is 00 01 .. 0f, the input 00 01 .. and so on, of n
// bytes.
TEST(SipHash, PublishedValues) {
  const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  const auto of_length = [&](int bytes) {
    std::string input;
    for (int i = 0; i < bytes; ++i) input.push_back(static_cast<char>(i));
    return Hex(SipHash(input, key));
  };
  EXPECT_EQ(of_length(0), "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(of_length(1), "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(of_length(7), "a1f1ebbed8dbc153c0b84aa61ff08239");
  EXPECT_EQ(of_length(8), "3b62a9ba6258f5610f83e264f31497b4");
  EXPECT_EQ(of_length(15), "5493e99933b0a8117e08ec0f97cfc3d9");
  EXPECT_EQ(of_length(16), "6ee2a4ca67b054bbfd3315bf85230577");
  EXPECT_EQ(of_length(63), "5150d1772f50834a503e069a973fbd7c");
  EXPECT_EQ(Hex(SipHash({}, key)), of_length(0)) << "a view of nothing";
}

// The values are those of Rust's crate siphasher. The keys are the halves of valkey-bloom's fixed seed.
TEST(SipHash, OfSlicesAsInRust) {
  const SipKey first{0xda1178ea22f50f59, 0xd97b3e3b09d814a7};
  const SipKey second{0x8788983e738a891d, 0x83330728cd977f30};
  EXPECT_EQ(SipHash13OfSlice("", first), 0x61ec3bc33753f4d6U);
  EXPECT_EQ(SipHash13OfSlice({}, second), 0x0aa4a3954a194204U);
  EXPECT_EQ(SipHash13OfSlice("a", first), 0x19807c47e8649714U);
  EXPECT_EQ(SipHash13OfSlice("a", second), 0x7244f2736f0fb39aU);
  EXPECT_EQ(SipHash13OfSlice("item", first), 0x1589599b71175ebdU);
  EXPECT_EQ(SipHash13OfSlice("item", second), 0xd572615a8d580348U);
  std::string numbers;
  for (char each = 0; each < 16; ++each) numbers += each;
  EXPECT_EQ(SipHash13OfSlice(numbers, first), 0x81b7b84c4ce1b42fU);
  EXPECT_EQ(SipHash13OfSlice(numbers, second), 0xf1c0bb08be7c3e49U);
}

TEST(SipHash, EachHalfOfTheKeyAndEachSeedCounts) {
  const KeyHash hash = SipHash("item", {1, 2});
  EXPECT_NE(SipHash("item", {1, 3}).low, hash.low);
  EXPECT_NE(SipHash("item", {2, 2}).low, hash.low);
  EXPECT_NE(HashItem(HashKind::kSip, "item", 1).low, HashItem(HashKind::kSip, "item", 2).low);
  EXPECT_EQ(SipKeyOfSeed(1).first, 1U);
  EXPECT_EQ(SipKeyOfSeed(1).second, 0xb456bcfc34c2cb2cU);
}

}  // namespace
}  // namespace bitsieve::core
