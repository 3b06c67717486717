#include "core/families/bloom/positions.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "core/families/bloom/modulus.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {
namespace {

KeyHash MixedHash(uint64_t number) { return {Mix64(2 * number), Mix64(2 * number + 1)}; }

TEST(Positions, LieBelowTheNumberOfBits) {
  for (const uint64_t m : {1ULL, 2ULL, 63ULL, 64ULL, 1'000'003ULL, 1ULL << 40}) {
    Positions positions(MixedHash(m), m);
    SteppedPositions stepped(MixedHash(m), Modulus(m));
    for (uint32_t i = 0; i < kMaxPositions; ++i) {
      EXPECT_LT(positions.Next(), m);
      EXPECT_LT(stepped.Next(), m);
    }
  }
}

// With plain double hashing an even step would come back after half of a power of two.
TEST(Positions, OfOneItemDiffer) {
  Positions positions({.low = 0, .high = 0}, uint64_t{1} << 40);
  std::set<uint64_t> seen;
  for (uint32_t i = 0; i < kMaxPositions; ++i) seen.insert(positions.Next());
  EXPECT_GT(seen.size(), kMaxPositions - 3);
}

TEST(Positions, AreEvenlySpread) {
  constexpr uint64_t kPlaces = 10;
  std::array<int, kPlaces> counts{};
  for (uint64_t i = 0; i < 10'000; ++i) {
    Positions positions(MixedHash(i), kPlaces);
    for (int j = 0; j < 7; ++j) ++counts[positions.Next()];
  }
  for (const int count : counts) EXPECT_NEAR(count, 7'000, 500);
}

// The division that SteppedPositions avoids: (at + i * step) mod 2^64 mod m.
TEST(SteppedPositions, AreThoseOfRedisBloom) {
  for (const uint64_t m : {1ULL, 7ULL, 64ULL, 958'506ULL, (1ULL << 63) - 25, 1ULL << 63}) {
    for (uint64_t i = 0; i < 1'000; ++i) {
      const KeyHash hash = MixedHash(i);
      SteppedPositions positions(hash, Modulus(m));
      for (uint64_t j = 0; j < 12; ++j) ASSERT_EQ(positions.Next(), (hash.low + j * hash.high) % m) << m << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace bitsieve::core
