#include "core/hash/murmur_hash3.h"

#include <gtest/gtest.h>

#include <string>

namespace bitsieve::core {
namespace {

// The verification value by which SMHasher knows an implementation: the hash of the hashes of growing keys.
TEST(MurmurHash3, HasThePublishedVerificationValue) {
  std::string keys;
  std::string hashes;
  for (unsigned i = 0; i < 256; ++i) {
    const KeyHash hash = MurmurHash3(keys, 256 - i);
    hashes.append(reinterpret_cast<const char*>(&hash.low), sizeof hash.low);
    hashes.append(reinterpret_cast<const char*>(&hash.high), sizeof hash.high);
    keys.push_back(static_cast<char>(i));
  }
  EXPECT_EQ(static_cast<uint32_t>(MurmurHash3(hashes, 0).low), 0x6384BA69U);
}

TEST(MurmurHash3, PublishedValues) {
  const auto expect = [](std::string_view text, uint64_t low, uint64_t high) {
    const KeyHash hash = MurmurHash3(text, 0);
    EXPECT_EQ(hash.low, low) << text << std::hex << " " << hash.low;
    EXPECT_EQ(hash.high, high) << text << std::hex << " " << hash.high;
  };
  expect("", 0, 0);
  expect({}, 0, 0);
  expect("hello", 0xcbd8a7b341bd9b02, 0x5b1e906a48ae1d19);
  expect("hello, world", 0x342fac623a5ebc8e, 0x4cdcbc079642414d);
  expect("19 Jan 2038 at 3:14:07 AM", 0xb89e5988b737affc, 0x664fc2950231b2cb);
  expect("The quick brown fox jumps over the lazy dog.", 0xcd99481f9ee902c9, 0x695da1a38987b6e7);
}

TEST(MurmurHash3, AllOfALongSeedCounts) {
  EXPECT_NE(MurmurHash3("item", 1).low, MurmurHash3("item", (uint64_t{1} << 32) + 1).low);
}

}  // namespace
}  // namespace bitsieve::core
