#include "core/families/ribbon/ribbon_solver.h"

#include <gtest/gtest.h>

#include <random>

namespace bitsieve::core {
namespace {

std::vector<uint64_t> RandomKeys(uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> keys(count);
  for (uint64_t& key : keys) key = random();
  return keys;
}

uint64_t CountFound(const RibbonShard& shard, uint32_t columns, const RibbonSolver& solver,
                    const std::vector<uint64_t>& keys) {
  std::vector<uint64_t> words(2 + shard.Words(columns) + kSpareWords);
  WriteShard(shard, words.data());
  solver.Solve(shard, columns, words.data() + 2);
  uint64_t found = 0;
  for (const uint64_t key : keys) {
    const KeyHash hash{key, 0};
    uint8_t present;
    BestRibbonKernel().may_contain({words.data(), 1, columns}, &hash, 1, &present);
    found += present;
  }
  return found;
}

TEST(RibbonSolver, SolvesAnySizeWithFewSeeds) {
  RibbonSolver solver;
  for (const uint64_t count : {0ULL, 1ULL, 2ULL, 64ULL, 113ULL, 114ULL, 115ULL, 118ULL, 128ULL, 180ULL, 500ULL, 1000ULL,
                               5000ULL, 30'000ULL, 65'536ULL, 66'500ULL}) {
    const uint32_t slots = RibbonSolver::SlotsFor(count);
    EXPECT_LE(slots, std::max<uint64_t>(128, count * 103 / 100 + 75));
    uint64_t seeds = 0;
    constexpr uint64_t kTries = 10;
    for (uint64_t t = 0; t < kTries; ++t) {
      const std::vector<uint64_t> keys = RandomKeys(count, t);
      const std::optional<uint32_t> seed = solver.Band(keys, slots);
      ASSERT_TRUE(seed) << count;
      seeds += *seed + 1;
      if (t > 0) continue;
      for (const double share : {0.0, 0.5, 1.0}) {
        RibbonShard shard{2, slots, 0, *seed};
        shard.split = static_cast<uint32_t>(share * shard.starts());
        EXPECT_EQ(CountFound(shard, 12, solver, keys), count) << share;
      }
    }
    EXPECT_LE(seeds, 2 * kTries) << count;
  }
}

TEST(RibbonSolver, RepeatedKeysAreHarmless) {
  std::vector<uint64_t> keys = RandomKeys(1000, 1);
  for (size_t i = 0; i < 500; ++i) keys.push_back(keys[i]);
  RibbonSolver solver;
  const uint32_t slots = RibbonSolver::SlotsFor(1000);
  const auto seed = solver.Band(keys, slots);
  ASSERT_TRUE(seed);
  EXPECT_EQ(CountFound({2, slots, 0, *seed}, 9, solver, keys), keys.size());
}

TEST(RibbonSolver, WhatCannotBeSolvedIsTold) {
  RibbonSolver solver;
  EXPECT_FALSE(solver.Band(RandomKeys(200, 1), 192)) << "more keys than slots";
  EXPECT_TRUE(solver.Band(RandomKeys(170, 1), 192)) << "and it goes on with others";
}

TEST(RibbonSolver, AFailedSeedIsFollowedByTheNext) {
  RibbonSolver solver;
  uint32_t largest = 0;
  for (uint64_t t = 0; t < 50; ++t) {
    const std::vector<uint64_t> keys = RandomKeys(128, t);
    const auto seed = solver.Band(keys, 128);  // no spare slot: mostly fails
    ASSERT_TRUE(seed);
    largest = std::max(largest, *seed);
    EXPECT_EQ(CountFound({2, 128, 1, *seed}, 20, solver, keys), keys.size());
  }
  EXPECT_GT(largest, 2U);
}

}  // namespace
}  // namespace bitsieve::core
