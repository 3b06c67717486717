#include "core/base/test_and_set_bit.h"

#include <gtest/gtest.h>

#include <array>

namespace bitsieve::core {
namespace {

TEST(TestAndSetBit, SetsTheBitOfThePlaceAndCountsThoseThatWereSet) {
  std::array<uint64_t, 3> words{};
  uint64_t were_set = 0;
  for (const uint64_t place : {0, 64 + 5, 64 + 63, 128 + 31, 128 + 32}) TestAndSetBit(words.data(), place, were_set);
  EXPECT_EQ(words, (std::array<uint64_t, 3>{1, uint64_t{1} << 63 | 1U << 5, uint64_t{3} << 31}));
  EXPECT_EQ(were_set, 0U);
  for (const uint64_t place : {64 + 5, 191, 64 + 63}) TestAndSetBit(words.data(), place, were_set);
  EXPECT_EQ(were_set, 2U);
  EXPECT_EQ(words, (std::array<uint64_t, 3>{1, uint64_t{1} << 63 | 1U << 5, uint64_t{3} << 31 | uint64_t{1} << 63}));
}

}  // namespace
}  // namespace bitsieve::core
