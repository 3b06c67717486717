#include "cli/bulk/batch_maker.h"

#include <gtest/gtest.h>

namespace bitsieve::cli {
namespace {

TEST(BatchMakerTest, ItemsShareOneCommand) {
  BatchMaker maker({.words = {"BF.MADD", "f"}});
  EXPECT_TRUE(maker.empty());
  maker.Add("a");
  maker.Add("");
  EXPECT_FALSE(maker.empty());
  const Batch batch = maker.Take();
  EXPECT_EQ(batch.commands, "*4\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n$1\r\na\r\n$0\r\n\r\n");
  EXPECT_EQ(batch.items, 2U);
  EXPECT_EQ(batch.replies(), 1U);
}

TEST(BatchMakerTest, OrEachHasACommandOfItsOwn) {
  BatchMaker maker({.words = {"CF.ADD", "f"}, .one_item = true});
  maker.Add("a");
  maker.Add("b");
  const Batch batch = maker.Take();
  EXPECT_EQ(batch.commands, "*3\r\n$6\r\nCF.ADD\r\n$1\r\nf\r\n$1\r\na\r\n*3\r\n$6\r\nCF.ADD\r\n$1\r\nf\r\n$1\r\nb\r\n");
  EXPECT_EQ(batch.replies(), 2U);
}

TEST(BatchMakerTest, ItemsOfEqualTimeShareACommand) {
  BatchMaker maker({.words = {"BF.MADD", "f"}, .timed_words = {"BF.INSERT", "f", "PX"}});
  maker.Add("a", 50);
  maker.Add("b");
  maker.Add("c", 7);
  maker.Add("d", 50);
  const Batch batch = maker.Take();
  const std::string insert = "$9\r\nBF.INSERT\r\n$1\r\nf\r\n$2\r\nPX\r\n";
  EXPECT_EQ(batch.commands, "*3\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n$1\r\nb\r\n*6\r\n" + insert +
                                "$1\r\n7\r\n$5\r\nITEMS\r\n$1\r\nc\r\n*7\r\n" + insert +
                                "$2\r\n50\r\n$5\r\nITEMS\r\n$1\r\na\r\n$1\r\nd\r\n");
  EXPECT_EQ(batch.items, 4U);
  EXPECT_EQ(batch.replies(), 3U);
  EXPECT_EQ(batch.items_of, (std::vector<size_t>{1, 1, 2}));
  maker.Add("e");
  EXPECT_EQ(maker.Take().items_of, (std::vector<size_t>{1}));
}

TEST(BatchMakerTest, TakingBeginsTheNextBatch) {
  BatchMaker maker({.words = {"BF.MADD", "f"}});
  maker.Add("a");
  maker.batch().end_records = 7;
  EXPECT_EQ(maker.Take().end_records, 7U);
  EXPECT_TRUE(maker.empty());
  maker.Add("b");
  const Batch next = maker.Take();
  EXPECT_EQ(next.commands, "*3\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n$1\r\nb\r\n");
  EXPECT_EQ(next.end_records, 0U);
}

TEST(BatchMakerTest, IsFullByItemsOrByBytes) {
  BatchMaker many({.words = {"BF.MADD", "f"}}), long_ones({.words = {"BF.MADD", "f"}});
  for (int i = 0; i < 999; ++i) many.Add("x");
  EXPECT_FALSE(many.IsFull());
  many.Add("x");
  EXPECT_TRUE(many.IsFull());
  long_ones.Add("x");
  EXPECT_FALSE(long_ones.IsFull());
  long_ones.Add(std::string(128 << 10, 'x'));
  EXPECT_TRUE(long_ones.IsFull());
}

}  // namespace
}  // namespace bitsieve::cli
