#include "core/families/bloom/modulus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "core/hash/mix64.h"

namespace bitsieve::core {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(Modulus, IsTheRestOfADivision) {
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t divisor = std::max<uint64_t>(Mix64(i) >> (i % 64), 1);
    const Modulus modulus(divisor);
    ASSERT_EQ(modulus.divisor(), divisor);
    for (uint64_t j = 0; j < 20; ++j) {
      const uint64_t value = Mix64(i + 100'000 * (j + 1)) >> (j % 5 * 13);
      ASSERT_EQ(modulus.Of(value), value % divisor) << value << " % " << divisor;
    }
  }
}

// The estimated quotient is too small by one most often near multiples of the divisor, and for large values.
TEST(Modulus, IsExactAtTheEdges) {
  constexpr uint64_t kHalf = uint64_t{1} << 63;
  for (const uint64_t divisor : std::initializer_list<uint64_t>{1, 2, 3, 64, 958'506, uint64_t{1} << 32, kHalf - 25,
                                                                kHalf, kHalf + 1, kMax - 1, kMax}) {
    const Modulus modulus(divisor);
    for (const uint64_t multiple : {uint64_t{0}, divisor, kMax / divisor / 2 * divisor, kMax / divisor * divisor}) {
      for (const uint64_t value : {multiple - 1, multiple, multiple + 1, kMax - multiple}) {
        EXPECT_EQ(modulus.Of(value), value % divisor) << value << " % " << divisor;
      }
    }
  }
}

}  // namespace
}  // namespace bitsieve::core
