#include "core/filters/link.h"

#include <gtest/gtest.h>

namespace bitsieve::core {
namespace {

class LinkTest : public testing::TestWithParam<FilterKind> {
 protected:
  std::unique_ptr<Link> Make(uint64_t capacity, double rate) {
    return std::move(*MakeLink(LinkShapeFor(GetParam(), capacity, rate), budget_));
  }
  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, LinkTest,
                         testing::Values(FilterKind::kClassic, FilterKind::kBlocked, FilterKind::kCounting,
                                         FilterKind::kRedisBloom),
                         [](const auto& test) { return std::string(FilterKindName(test.param)); });

TEST_P(LinkTest, HasNoMoreRoomThanItsCapacity) {
  const auto link = Make(10, 0.01);
  EXPECT_EQ(link->Room(), 10U);
  link->CountChange(6, 25);
  EXPECT_EQ(link->items(), 6U);
  EXPECT_EQ(link->set_bits(), 25U);
  EXPECT_EQ(link->Room(), 4U);
  link->CountChange(5, 0);  // one was repeated
  EXPECT_EQ(link->Room(), 0U);
  link->CountChange(UINT64_MAX, UINT64_MAX - 4);
  EXPECT_EQ(link->items(), 10U);
  EXPECT_EQ(link->set_bits(), 20U);
  EXPECT_EQ(link->Room(), 0U);
}

TEST_P(LinkTest, StopsBeforeTheFirstNewItemWithoutRoomAndCountsWhatItAdded) {
  if (GetParam() == FilterKind::kCounting) GTEST_SKIP() << "its items are added one at a time";
  const auto link = Make(3, 1e-6);
  std::vector<KeyHash> hashes;
  for (const char* item : {"a", "b", "a", "skipped", "c", "b", "d"}) hashes.push_back(HashItem(item, 1));
  const std::vector<uint8_t> skip{0, 0, 0, 1, 0, 0, 0};
  std::vector<uint8_t> added(7, 9);
  const LinkProgress progress = link->Add(hashes, skip, added);
  EXPECT_EQ(progress.done, 6U);
  EXPECT_EQ(std::vector<uint8_t>(added.begin(), added.begin() + 6), (std::vector<uint8_t>{1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(link->items(), 3U);
  EXPECT_EQ(link->set_bits(), link->CountSet(link->memory().bytes()));
}

TEST_P(LinkTest, ShapesItMakesAreValidAndForeignOnesAreChecked) {
  for (const double rate : {0.25, 0.01, 1e-4, 1e-9, 1e-15}) {
    for (const uint64_t capacity : {1ULL, 100ULL, 1ULL << 30, 1ULL << 48}) {
      EXPECT_TRUE(IsValid(LinkShapeFor(GetParam(), capacity, rate))) << rate << " " << capacity;
    }
  }
  const LinkShape good = LinkShapeFor(GetParam(), 100, 0.01);
  const auto invalid = [&](auto change) {
    LinkShape shape = good;
    change(shape);
    return !IsValid(shape);
  };
  EXPECT_TRUE(invalid([](auto& s) { s.capacity = 0; }));
  EXPECT_TRUE(invalid([](auto& s) { s.error_rate = 0; }));
  EXPECT_TRUE(invalid([](auto& s) { s.error_rate = 1; }));
  EXPECT_TRUE(invalid([](auto& s) { s.bits = 0; }));
  EXPECT_TRUE(invalid([](auto& s) { s.bits = UINT64_MAX - 511; }));
  EXPECT_TRUE(invalid([](auto& s) { s.hash_functions = 0; }));
  EXPECT_TRUE(invalid([](auto& s) { s.hash_functions = 1000; }));
  EXPECT_TRUE(invalid([](auto& s) { s.lines_per_item = 3; }));
  EXPECT_TRUE(invalid([](auto& s) { s.kind = static_cast<FilterKind>(9); }));
}

TEST_P(LinkTest, BudgetRefusalIsAnError) {
  MemoryBudget small(64);
  const auto link = MakeLink(LinkShapeFor(GetParam(), 1000, 0.01), small);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace bitsieve::core
