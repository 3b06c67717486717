#include "core/families/bloom/link.h"

#include <gtest/gtest.h>

#include "core/families/bloom/blocked_bloom.h"
#include "core/families/bloom/classic_bloom.h"
#include "core/families/bloom/counting_bloom.h"
#include "core/families/redisbloom/redis_bloom.h"

namespace bitsieve::core {
namespace {

struct LayoutCase {
  std::string name;
  const LinkLayout* layout;

  friend void PrintTo(const LayoutCase& each, std::ostream* out) { *out << each.name; }
};

class LinkTest : public testing::TestWithParam<LayoutCase> {
 protected:
  static LinkShape ShapeFor(uint64_t capacity, double rate) {
    return GetParam().layout->shape_for(capacity, rate, FilterParams{});
  }
  std::unique_ptr<Link> Make(uint64_t capacity, double rate) {
    return std::move(*MakeLink(ShapeFor(capacity, rate), budget_));
  }
  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, LinkTest,
                         testing::Values(LayoutCase{"classic", &kClassicLayout}, LayoutCase{"blocked", &kBlockedLayout},
                                         LayoutCase{"counting", &kCountingLayout},
                                         LayoutCase{"redisbloom", &kRedisBloomLayout}),
                         [](const auto& test) { return test.param.name; });

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
  if (GetParam().layout->counters) GTEST_SKIP() << "its items are added one at a time";
  const auto link = Make(3, 1e-6);
  std::vector<KeyHash> hashes;
  for (const char* item : {"a", "b", "a", "skipped", "c", "b", "d"}) hashes.push_back(HashItem(item, 1));
  const std::vector<uint8_t> skip{0, 0, 0, 1, 0, 0, 0};
  std::vector<uint8_t> added(7, 9);
  const LinkProgress progress = static_cast<BitLink&>(*link).Add(hashes, skip, added);
  EXPECT_EQ(progress.done, 6U);
  EXPECT_EQ(std::vector<uint8_t>(added.begin(), added.begin() + 6), (std::vector<uint8_t>{1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(link->items(), 3U);
  EXPECT_EQ(link->set_bits(), link->CountSet(link->memory().bytes()));
}

TEST_P(LinkTest, ShapesItMakesAreValidAndForeignOnesAreChecked) {
  for (const double rate : {0.25, 0.01, 1e-4, 1e-9, 1e-15}) {
    for (const uint64_t capacity : {1ULL, 100ULL, 1ULL << 30, 1ULL << 48}) {
      EXPECT_TRUE(IsValid(ShapeFor(capacity, rate))) << rate << " " << capacity;
    }
  }
  const LinkShape good = ShapeFor(100, 0.01);
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
}

TEST_P(LinkTest, BudgetRefusalIsAnError) {
  MemoryBudget small(64);
  const auto link = MakeLink(ShapeFor(1000, 0.01), small);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace bitsieve::core
