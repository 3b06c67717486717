#include "core/families/bloom/sub_filter.h"

#include <gtest/gtest.h>

#include "core/families/bloom/blocked_bloom.h"
#include "core/families/bloom/classic_bloom.h"
#include "core/families/bloom/counting_bloom.h"
#include "core/families/redisbloom/redis_bloom.h"

namespace bitsieve::core {
namespace {

struct LayoutCase {
  std::string name;
  const SubFilterLayout* layout;

  friend void PrintTo(const LayoutCase& each, std::ostream* out) { *out << each.name; }
};

class SubFilterTest : public testing::TestWithParam<LayoutCase> {
 protected:
  static SubFilterShape ShapeFor(uint64_t capacity, double rate) {
    return GetParam().layout->shape_for(capacity, rate, FilterParams{});
  }
  std::unique_ptr<SubFilter> Make(uint64_t capacity, double rate) {
    return std::move(*MakeSubFilter(ShapeFor(capacity, rate), budget_));
  }
  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(Types, SubFilterTest,
                         testing::Values(LayoutCase{"classic", &kClassicLayout}, LayoutCase{"blocked", &kBlockedLayout},
                                         LayoutCase{"counting", &kCountingLayout},
                                         LayoutCase{"redisbloom", &kRedisBloomLayout}),
                         [](const auto& test) { return test.param.name; });

TEST_P(SubFilterTest, HasNoMoreRoomThanItsCapacity) {
  const auto sub_filter = Make(10, 0.01);
  EXPECT_EQ(sub_filter->Room(), 10U);
  sub_filter->CountChange(6, 25);
  EXPECT_EQ(sub_filter->items(), 6U);
  EXPECT_EQ(sub_filter->set_bits(), 25U);
  EXPECT_EQ(sub_filter->Room(), 4U);
  sub_filter->CountChange(5, 0);  // one was repeated
  EXPECT_EQ(sub_filter->Room(), 0U);
  sub_filter->CountChange(UINT64_MAX, UINT64_MAX - 4);
  EXPECT_EQ(sub_filter->items(), 10U);
  EXPECT_EQ(sub_filter->set_bits(), 20U);
  EXPECT_EQ(sub_filter->Room(), 0U);
}

TEST_P(SubFilterTest, StopsBeforeTheFirstNewItemWithoutRoomAndCountsWhatItAdded) {
  if (GetParam().layout->counters) GTEST_SKIP() << "its items are added one at a time";
  const auto sub_filter = Make(3, 1e-6);
  std::vector<KeyHash> hashes;
  for (const char* item : {"a", "b", "a", "skipped", "c", "b", "d"}) hashes.push_back(HashItem(item, 1));
  const std::vector<uint8_t> skip{0, 0, 0, 1, 0, 0, 0};
  std::vector<uint8_t> added(7, 9);
  const AddProgress progress = static_cast<BitSubFilter&>(*sub_filter).Add(hashes, skip, added);
  EXPECT_EQ(progress.done, 6U);
  EXPECT_EQ(std::vector<uint8_t>(added.begin(), added.begin() + 6), (std::vector<uint8_t>{1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(sub_filter->items(), 3U);
  EXPECT_EQ(sub_filter->set_bits(), sub_filter->CountSet(sub_filter->memory().bytes()));
}

TEST_P(SubFilterTest, ShapesItMakesAreValidAndForeignOnesAreChecked) {
  for (const double rate : {0.25, 0.01, 1e-4, 1e-9, 1e-15}) {
    for (const uint64_t capacity : {1ULL, 100ULL, 1ULL << 30, 1ULL << 48}) {
      EXPECT_TRUE(IsValid(ShapeFor(capacity, rate))) << rate << " " << capacity;
    }
  }
  const SubFilterShape good = ShapeFor(100, 0.01);
  const auto invalid = [&](auto change) {
    SubFilterShape shape = good;
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
}

TEST_P(SubFilterTest, BudgetRefusalIsAnError) {
  MemoryBudget small(64);
  const auto sub_filter = MakeSubFilter(ShapeFor(1000, 0.01), small);
  ASSERT_FALSE(sub_filter);
  EXPECT_EQ(sub_filter.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace bitsieve::core
