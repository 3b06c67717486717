#include "core/filter/chain.h"

#include <gtest/gtest.h>

#include <memory>

namespace bitsieve::core {
namespace {

struct Table : ChainMember<Table> {
  Table(uint64_t items, uint64_t bytes) : capacity_(items), size_bytes_(bytes) {}
  uint64_t capacity() const { return capacity_; }
  uint64_t size_bytes() const { return size_bytes_; }
  uint64_t capacity_, size_bytes_;
};

class ChainTest : public testing::Test {
 protected:
  Status Append(uint64_t items) { return chain_.Append(std::make_unique<Table>(items, 10 * items), 7, budget_); }

  MemoryBudget budget_;
  Chain<Table> chain_;
};

TEST_F(ChainTest, AnEmptyOneHasNothing) {
  EXPECT_EQ(chain_.newest(), nullptr);
  EXPECT_EQ(chain_.size(), 0U);
  EXPECT_TRUE(chain_.tables().empty());
  EXPECT_EQ(chain_.use_counters(), nullptr);
  EXPECT_FALSE(chain_.Use().has_value());
  EXPECT_EQ(chain_.HeapBytes(), 0U);
}

TEST_F(ChainTest, TablesKnowTheirNeighboursAndTheSumsUpToThem) {
  ASSERT_TRUE(Append(1) && Append(2) && Append(4));
  const Table& newest = *chain_.newest();
  const Table& middle = *newest.older();
  EXPECT_EQ(middle.newer(), &newest);
  EXPECT_EQ(newest.newer(), nullptr);
  EXPECT_EQ(middle.older()->older(), nullptr);
  EXPECT_EQ(newest.index(), 2U);
  EXPECT_EQ(middle.total_capacity(), 3U);
  EXPECT_EQ(newest.total_capacity(), 7U);
  EXPECT_EQ(newest.total_bytes(), 7U * 10 + 3 * 7);
  EXPECT_EQ(chain_.size_bytes(), 70U);
  EXPECT_EQ(chain_.held_bytes(), 91U);
  EXPECT_EQ(budget_.used_bytes(), 3U * 7) << "the contents are the tables' own account";
  EXPECT_EQ(chain_.Sum([](const Table& table) { return table.capacity(); }), 7U);
}

TEST_F(ChainTest, HoldsAsksTheNewestTableFirst) {
  ASSERT_TRUE(Append(1) && Append(2));
  int asked = 0;
  EXPECT_TRUE(chain_.Holds([&](const Table& table) { return ++asked == 1 && table.capacity() == 2; }));
  EXPECT_TRUE(chain_.Holds([](const Table& table) { return table.capacity() == 1; }));
  EXPECT_FALSE(chain_.Holds([](const Table&) { return false; }));
}

TEST_F(ChainTest, TheErrorRateIsThatOfAnyTable) {
  ASSERT_TRUE(Append(1) && Append(2));
  EXPECT_DOUBLE_EQ(chain_.ErrorRate([](const Table&) { return 0.5; }), 0.75);
}

TEST_F(ChainTest, UseIsCountedAtTheNewestAndSummedOverAll) {
  ASSERT_TRUE(Append(1));
  chain_.use_counters()->Count(1, 0, 0);
  ASSERT_TRUE(Append(2));
  chain_.use_counters()->Count(2, 0, 0);
  EXPECT_EQ(chain_.Use()->hits, 3U);
}

TEST_F(ChainTest, ATableThatWasTakenOffCanComeBack) {
  ASSERT_TRUE(Append(1) && Append(2));
  Table* const second = chain_.newest();
  EXPECT_FALSE(chain_.Regrow());
  chain_.TakeOffNewest();
  EXPECT_EQ(chain_.size(), 1U);
  EXPECT_EQ(chain_.newest()->newer(), nullptr);
  EXPECT_EQ(chain_.size_bytes(), 10U);
  EXPECT_EQ(chain_.all_tables().size(), 2U);
  EXPECT_EQ(chain_.held_bytes(), 44U) << "it stays in memory";
  EXPECT_TRUE(chain_.Regrow());
  EXPECT_EQ(chain_.newest(), second);
  EXPECT_EQ(second->older()->newer(), second);
  EXPECT_EQ(chain_.size_bytes(), 30U);
}

TEST_F(ChainTest, ARefusedAppendChangesNothing) {
  ASSERT_TRUE(Append(1));
  budget_.set_limit_bytes(7);
  const Status refused = Append(2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(chain_.size(), 1U);
  EXPECT_EQ(budget_.used_bytes(), 7U);
}

}  // namespace
}  // namespace bitsieve::core
