#include "core/base/test_and_set_bit.h"

#include <gtest/gtest.h>

namespace bitsieve::core {
namespace {

TEST(TestAndSetBit, SetsTheBitOfThePlaceModulo64AndCountsThoseThatWereSet) {
  uint64_t word = 0, were_set = 0;
  for (const uint64_t place : {uint64_t{0}, uint64_t{64 * 3 + 5}, (uint64_t{1} << 40) + 63}) {
    TestAndSetBit(word, place, were_set);
  }
  EXPECT_EQ(word, uint64_t{1} << 63 | 1U << 5 | 1U);
  EXPECT_EQ(were_set, 0U);
  TestAndSetBit(word, 5, were_set);
  TestAndSetBit(word, 127, were_set);
  TestAndSetBit(word, 6, were_set);
  EXPECT_EQ(were_set, 2U);
  EXPECT_EQ(word, uint64_t{1} << 63 | 3U << 5 | 1U);
}

}  // namespace
}  // namespace bitsieve::core
