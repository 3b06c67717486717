#include "core/families/bloom/counting_filter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_factory.h"
#include "tests/support/key_source.h"

namespace bitsieve::core {
namespace {

class CountingFilterTest : public testing::Test {
 protected:
  std::unique_ptr<Filter> Make(uint64_t capacity, uint32_t expansion) {
    FilterParams params;
    params.type = kCountingType;
    params.capacity = capacity;
    params.expansion = expansion;
    auto filter = std::move(*MakeFilter(params, budget_, SystemClock()));
    EXPECT_NE(dynamic_cast<CountingFilter*>(filter.get()), nullptr);
    return filter;
  }
  static AddOutcome Add(Filter& filter, const std::string& item) {
    const KeyHash hash = filter.HashOf(item);
    AddOutcome outcome{};
    filter.Add({&hash, 1}, {&outcome, 1});
    return outcome;
  }
  static bool Remove(Filter& filter, const std::string& item) {
    const KeyHash hash = filter.HashOf(item);
    uint8_t removed = 0;
    filter.Remove({&hash, 1}, {&removed, 1});
    return removed != 0;
  }
  static uint64_t Count(const Filter& filter, const std::string& item) {
    const KeyHash hash = filter.HashOf(item);
    uint64_t count = 0;
    filter.Count({&hash, 1}, {&count, 1});
    return count;
  }

  MemoryBudget budget_;
};

TEST_F(CountingFilterTest, AnItemAddedTwiceAndRemovedOnceIsStillThere) {
  const auto filter = Make(100, 0);
  EXPECT_EQ(Add(*filter, "a"), AddOutcome::kAdded);
  EXPECT_EQ(Add(*filter, "a"), AddOutcome::kPresent);
  EXPECT_EQ(filter->ItemCount(), 2U) << "additions less removals";
  EXPECT_TRUE(Remove(*filter, "a"));
  EXPECT_EQ(Count(*filter, "a"), 1U);
  EXPECT_TRUE(Remove(*filter, "a"));
  EXPECT_FALSE(Remove(*filter, "a"));
  EXPECT_EQ(Count(*filter, "a"), 0U);
  EXPECT_EQ(filter->ItemCount(), 0U);
}

TEST_F(CountingFilterTest, RepeatedAdditionsAreCountedInTheOldestSubFilterThatHoldsTheItem) {
  const auto filter = Make(100, 2);
  Add(*filter, "first");
  for (int i = 0; i < 400; ++i) Add(*filter, std::to_string(i));
  ASSERT_GT(filter->SubFilters(), 1U);
  const uint64_t in_oldest = filter->DescribeSubFilters()[0].items;
  EXPECT_EQ(Add(*filter, "first"), AddOutcome::kPresent);
  EXPECT_EQ(filter->DescribeSubFilters()[0].items, in_oldest + 1);
  EXPECT_TRUE(Remove(*filter, "first"));
  EXPECT_EQ(filter->DescribeSubFilters()[0].items, in_oldest);
}

TEST_F(CountingFilterTest, RemovalMakesRoom) {
  const auto filter = Make(50, 0);
  int added = 0;
  while (Add(*filter, std::to_string(added)) != AddOutcome::kFull) ++added;
  EXPECT_EQ(Add(*filter, "0"), AddOutcome::kPresent) << "repeated additions need no room";
  EXPECT_TRUE(Remove(*filter, "0"));
  EXPECT_TRUE(Remove(*filter, "1"));
  EXPECT_EQ(Add(*filter, "new"), AddOutcome::kAdded);
}

TEST_F(CountingFilterTest, EveryChangeIsCounted) {
  const auto filter = Make(100, 0);
  uint64_t changes = filter->ChangeCount();
  const auto expect_change = [&] {
    EXPECT_GT(filter->ChangeCount(), changes);
    changes = filter->ChangeCount();
  };
  Add(*filter, "a");
  expect_change();
  Add(*filter, "a");
  expect_change();
  Remove(*filter, "a");
  expect_change();
  Remove(*filter, "absent");
  EXPECT_EQ(filter->ChangeCount(), changes);
}

}  // namespace
}  // namespace bitsieve::core
