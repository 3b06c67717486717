#include "core/families/fingerprint/fingerprint_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "core/families/fingerprint/fingerprint_sizing.h"

namespace bitsieve::core {
namespace {

class FingerprintTableTest : public testing::Test {
 protected:
  std::unique_ptr<FingerprintTable> Make(uint64_t capacity, uint64_t slots, uint32_t bits) {
    return std::move(FingerprintTable::Make({capacity, 0.01, slots, bits}, budget_).value());
  }
  // Hashes that choose this slot and this fingerprint.
  static KeyHash HashFor(const FingerprintTable& table, uint64_t home, uint64_t fingerprint) {
    const auto fraction = [](uint64_t part, uint64_t whole) {
      return static_cast<uint64_t>(((static_cast<unsigned __int128>(part) << 64) + (whole - 1)) / whole);
    };
    const uint64_t fingerprints = (uint64_t{1} << table.shape().fingerprint_bits) - 1;
    return {fraction(home, table.shape().slots), fraction(fingerprint - 1, fingerprints)};
  }
  static std::vector<uint64_t> SlotsOf(FingerprintTable& table) {
    const PackedSlots slots(table.memory().data(), table.shape().fingerprint_bits);
    std::vector<uint64_t> values;
    for (uint64_t i = 0; i < table.shape().slots; ++i) values.push_back(slots.Get(i));
    return values;
  }

  MemoryBudget budget_;
};

TEST_F(FingerprintTableTest, LargerFingerprintsComeFirst) {
  const auto table = Make(7, 8, 9);
  const auto insert = [&](uint64_t home, uint64_t fingerprint) { table->Insert(HashFor(*table, home, fingerprint)); };
  insert(2, 50);
  insert(2, 70);
  insert(2, 60);
  EXPECT_EQ(SlotsOf(*table), (std::vector<uint64_t>{0, 0, 70, 60, 50, 0, 0, 0}));
  insert(3, 65);
  EXPECT_EQ(SlotsOf(*table), (std::vector<uint64_t>{0, 0, 70, 65, 60, 50, 0, 0}));
  EXPECT_EQ(table->taken(), 4U);
}

TEST_F(FingerprintTableTest, ProbingGoesOnFromTheLastSlotToTheFirst) {
  const auto table = Make(7, 8, 9);
  for (const uint64_t fingerprint : {10, 30, 20, 40}) table->Insert(HashFor(*table, 6, fingerprint));
  EXPECT_EQ(SlotsOf(*table), (std::vector<uint64_t>{20, 10, 0, 0, 0, 0, 40, 30}));
  for (const uint64_t fingerprint : {10, 30, 20, 40}) {
    EXPECT_TRUE(table->Contains(HashFor(*table, 6, fingerprint))) << fingerprint;
  }
  EXPECT_FALSE(table->Contains(HashFor(*table, 6, 25)));
  EXPECT_FALSE(table->Contains(HashFor(*table, 6, 5)));
}

TEST_F(FingerprintTableTest, ADisplacedFingerprintThatMeetsItsLikeIsDropped) {
  const auto table = Make(7, 8, 9);
  const KeyHash before = HashFor(*table, 2, 50);
  const KeyHash behind = HashFor(*table, 3, 50);
  table->Insert(before);
  EXPECT_FALSE(table->Contains(behind)) << "they are different items";
  table->Insert(behind);
  const KeyHash larger = HashFor(*table, 2, 60);
  table->Insert(larger);
  EXPECT_EQ(SlotsOf(*table), (std::vector<uint64_t>{0, 0, 60, 50, 0, 0, 0, 0}));
  for (const KeyHash& each : {before, behind, larger}) EXPECT_TRUE(table->Contains(each));
  EXPECT_EQ(table->items(), 3U);
  EXPECT_EQ(table->taken(), 2U);
}

TEST_F(FingerprintTableTest, EveryWalkEndsWhenAllButOneSlotAreTaken) {
  const auto table = Make(7, 8, 9);
  for (uint64_t fingerprint = 1; fingerprint <= 7; ++fingerprint) table->Insert(HashFor(*table, 0, fingerprint));
  EXPECT_FALSE(table->HasRoom());
  for (uint64_t home = 0; home < 8; ++home) EXPECT_FALSE(table->Contains(HashFor(*table, home, 400)));
  for (uint64_t fingerprint = 1; fingerprint <= 7; ++fingerprint) {
    EXPECT_TRUE(table->Contains(HashFor(*table, 0, fingerprint)));
  }
}

// Whatever is put into whichever slots, each fingerprint is found from its home, and only larger ones lie between.
TEST_F(FingerprintTableTest, NothingIsLostAtAnyWidth) {
  std::mt19937_64 random(1);
  for (const uint32_t bits : {1U, 2U, 3U, 7U, 8U, 13U, 22U, 31U, 32U}) {
    const auto table = Make(800, 1000, bits);
    std::vector<KeyHash> added;
    while (table->HasRoom()) {
      const KeyHash hash{random(), random()};
      if (!table->Contains(hash)) table->Insert(hash), added.push_back(hash);
      if (bits < 4 && added.size() == 100) break;  // few fingerprints: soon all are there
    }
    for (const KeyHash& hash : added) ASSERT_TRUE(table->Contains(hash)) << bits;
    EXPECT_LE(table->taken(), table->items());
    const uint64_t taken = table->taken();
    table->Restore(table->items());
    EXPECT_EQ(table->taken(), taken);
    const std::span<const std::byte> bytes = table->memory().bytes();
    for (uint64_t bit = table->shape().slots * bits; bit < bytes.size() * 8; ++bit) {
      ASSERT_EQ(std::to_integer<unsigned>(bytes[bit / 8]) >> (bit % 8) & 1, 0U) << bits << " " << bit;
    }
  }
}

// The formula of the rate, and that of unordered tables beside it, against what a table measures.
TEST_F(FingerprintTableTest, RateAtEveryLoad) {
  constexpr uint64_t kSlots = 200'000;
  constexpr uint32_t kBits = 12;
  constexpr int kProbes = 2'000'000;
  for (const double load : {0.3, 0.5, 0.75, 0.8, 0.9}) {
    const auto capacity = static_cast<uint64_t>(load * kSlots);
    const auto table = Make(capacity, kSlots, kBits);
    std::mt19937_64 random(static_cast<uint64_t>(load * 100));
    while (table->HasRoom()) {
      const KeyHash hash{random(), random()};
      if (!table->Contains(hash)) table->Insert(hash);
    }
    int wrong = 0;
    for (int i = 0; i < kProbes; ++i) wrong += table->Contains({random(), random()}) ? 1 : 0;
    const double expected = FingerprintRate(kBits, table->Load()) * kProbes;
    std::printf("  load %.2f: %.3f times the rate worked out\n", load, wrong / expected);
    EXPECT_NEAR(wrong, expected, 0.03 * expected + 5 * std::sqrt(expected));
    EXPECT_DOUBLE_EQ(table->EstimatedRate() * kProbes, expected);
  }
}

}  // namespace
}  // namespace bitsieve::core
