#include "core/families/window/generation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/hash/mix64.h"

namespace bitsieve::core {
namespace {

class GenerationTest : public testing::Test {
 protected:
  std::unique_ptr<Generation> Make(uint64_t capacity) {
    return std::move(Generation::Make(BlockedBloom::ShapeFor(capacity, 1e-6), budget_).value());
  }
  static std::vector<KeyHash> Hashes(uint64_t first, uint64_t end) {
    std::vector<KeyHash> hashes;
    for (uint64_t i = first; i < end; ++i) hashes.push_back({Mix64(2 * i), Mix64(2 * i + 1)});
    return hashes;
  }
  static AddProgress Add(Generation& generation, const std::vector<KeyHash>& hashes) {
    const std::vector<uint8_t> skip(hashes.size());
    std::vector<uint8_t> added(hashes.size());
    return generation.Add(hashes, skip, added);
  }
  static ptrdiff_t Found(const Generation& generation, const std::vector<KeyHash>& hashes) {
    std::vector<uint8_t> present(hashes.size());
    generation.MayContain(hashes, present);
    return std::ranges::count(present, 1);
  }

  MemoryBudget budget_;
};

TEST_F(GenerationTest, TakesWhatItSaysFromTheBudget) {
  const SubFilterShape shape = BlockedBloom::ShapeFor(10'000, 0.01);
  { const auto generation = std::move(Generation::Make(shape, budget_).value()); }
  EXPECT_EQ(budget_.used_bytes(), 0U);
  EXPECT_EQ(budget_.peak_bytes(), Generation::TotalBytes(shape));
  budget_.set_limit_bytes(Generation::TotalBytes(shape) - 1);
  EXPECT_EQ(Generation::Make(shape, budget_).error().code, ErrorCode::kOutOfMemory);
}

TEST_F(GenerationTest, IsFullOnceItHasItsCapacity) {
  const auto generation = Make(100);
  EXPECT_EQ(Add(*generation, Hashes(0, 99)).added, 99U);
  EXPECT_FALSE(generation->Full());
  EXPECT_EQ(Add(*generation, Hashes(99, 200)).added, 1U);
  EXPECT_TRUE(generation->Full());
}

TEST_F(GenerationTest, ANewRoundBeginsWithNothing) {
  const auto generation = Make(20'000);
  for (uint64_t round = 0; round < 5; ++round) {
    const auto old = Hashes(round == 0 ? 0 : (round - 1) * 20'000, round * 20'000);
    const auto items = Hashes(round * 20'000, (round + 1) * 20'000);
    if (round > 0) {
      generation->BeginRound();
      EXPECT_EQ(Found(*generation, old), 0) << round;
    }
    for (size_t begin = 0; begin < items.size(); begin += 100) {
      Add(*generation,
          {items.begin() + static_cast<ptrdiff_t>(begin), items.begin() + static_cast<ptrdiff_t>(begin) + 100});
    }
    EXPECT_EQ(Found(*generation, items), 20'000) << round;
    EXPECT_LT(Found(*generation, old), 20) << round;
  }
}

TEST_F(GenerationTest, AnImageShowsWhatWasForgottenAsClear) {
  const auto generation = Make(1'000);
  Add(*generation, Hashes(0, 500));
  generation->BeginRound();
  Add(*generation, Hashes(500, 503));
  const auto part = generation->Capture({budget_, Patience::kLose});
  std::vector<std::byte> bytes(generation->bits().memory().size_bytes());
  Add(*generation, Hashes(503, 600));
  ASSERT_TRUE(part->Read(0, bytes));
  part->Close();
  const uint64_t set = generation->bits().CountSet(bytes);
  EXPECT_GT(set, 0U);
  EXPECT_LE(set, 3U * generation->bits().shape().hash_functions);
}

}  // namespace
}  // namespace bitsieve::core
