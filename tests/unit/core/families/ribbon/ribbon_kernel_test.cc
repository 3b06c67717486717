#include "core/families/ribbon/ribbon_kernel.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace bitsieve::core {
namespace {

TEST(RibbonKernel, RecordsComeBack) {
  const RibbonShard shard{12345678901, 67584, 67457, 255};
  uint64_t record[2];
  WriteShard(shard, record);
  const RibbonShard back = ReadShard(record);
  EXPECT_EQ(back.offset, shard.offset);
  EXPECT_EQ(back.slots, shard.slots);
  EXPECT_EQ(back.split, shard.split);
  EXPECT_EQ(back.seed, shard.seed);
}

TEST(RibbonKernel, BlocksFromTheSplitOnHaveAColumnMore) {
  const RibbonShard shard{0, 512, 130, 0};  // the split lies in block 2
  EXPECT_EQ(shard.WordsBefore(0, 7), 0U);
  EXPECT_EQ(shard.WordsBefore(2, 7), 14U);
  EXPECT_EQ(shard.WordsBefore(3, 7), 22U);
  EXPECT_EQ(shard.Words(7), 8 * 7 + 6U);
}

// Random bits and hashes: what one kernel finds, all find; and what one solves, all solve.
TEST(RibbonKernel, AllGiveTheSame) {
  std::mt19937_64 random(1);
  for (uint32_t columns = 1; columns < kMaxRibbonColumns; ++columns) {
    for (const uint32_t slots : {128U, 192U, 4096U}) {
      RibbonShard shard{2, slots, 0, columns};
      shard.split = static_cast<uint32_t>(random() % (shard.starts() + 1));
      std::vector<RibbonRow> rows(slots);
      for (size_t i = 0; i < slots; ++i) {
        if (random() % 16 == 0) continue;  // an empty one
        rows[i] = {random() | 1, random(), static_cast<uint32_t>(random())};
        // Windows end with the last slot.
        const size_t left = slots - i;
        if (left < 64) rows[i].low &= (uint64_t{1} << left) - 1;
        if (left < 128) rows[i].high &= left <= 64 ? 0 : (uint64_t{1} << (left - 64)) - 1;
      }
      std::vector<KeyHash> hashes(3000);
      for (KeyHash& hash : hashes) hash = {random(), random()};

      std::vector<uint64_t> expected_words;
      std::vector<uint8_t> expected;
      for (const RibbonKernel* kernel : RibbonKernels()) {
        std::vector<uint64_t> words(2 + shard.Words(columns) + kSpareWords);
        WriteShard(shard, words.data());
        kernel->substitute(shard, rows.data(), columns, words.data() + 2);
        std::vector<uint8_t> present(hashes.size(), 7);
        kernel->may_contain({words.data(), 1, columns}, hashes.data(), hashes.size(), present.data());
        if (expected.empty()) {
          expected_words = words;
          expected = present;
        }
        ASSERT_EQ(words, expected_words) << kernel->name << ", " << columns << " columns, " << slots << " slots";
        ASSERT_EQ(present, expected) << kernel->name << ", " << columns << " columns, " << slots << " slots";
      }
    }
  }
  EXPECT_STREQ(RibbonKernels().back()->name, "portable");
}

}  // namespace
}  // namespace bitsieve::core
