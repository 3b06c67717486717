#include "core/filter/filter_ptr.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/filter/filter_factory.h"

namespace bitsieve::core {
namespace {

class FilterPtrTest : public testing::Test {
 protected:
  FilterPtr Make() { return FilterPtr(std::move(MakeFilter({}, budget_, SystemClock()).value())); }

  MemoryBudget budget_;
};

TEST_F(FilterPtrTest, TheLastOwnerFreesTheFilter) {
  FilterPtr one = Make();
  FilterPtr other = one;
  EXPECT_EQ(one.use_count(), 2U);
  EXPECT_EQ(one, other);
  one.reset();
  EXPECT_GT(budget_.used_bytes(), 0U);
  FilterPtr moved = std::move(other);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(moved.use_count(), 1U);
  moved = nullptr;
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

TEST_F(FilterPtrTest, AssigningItselfIsHarmless) {
  FilterPtr one = Make();
  const FilterPtr& same = one;
  one = same;
  EXPECT_EQ(one.use_count(), 1U);
}

TEST_F(FilterPtrTest, AWeakOneKeepsNothingAlive) {
  EXPECT_TRUE(WeakFilterPtr().expired());
  EXPECT_TRUE(WeakFilterPtr(FilterPtr()).expired());
  FilterPtr filter = Make();
  const WeakFilterPtr weak(filter), same(filter), other(Make());
  EXPECT_EQ(weak.lock(), filter);
  EXPECT_EQ(weak, same);
  EXPECT_NE(weak, other);
  EXPECT_TRUE(other.expired());
  EXPECT_EQ(filter.use_count(), 1U);
  filter.reset();
  EXPECT_EQ(weak.lock(), nullptr);
  EXPECT_EQ(weak, same) << "gone, they are still of one filter";
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

// A new filter may lie where the old one lay.
TEST_F(FilterPtrTest, AWeakOneIsOfOneFilterNotOfOneAddress) {
  FilterPtr filter = Make();
  const WeakFilterPtr weak(filter);
  for (int i = 0; i < 100; ++i) {
    filter = nullptr;
    filter = Make();
    EXPECT_NE(weak, WeakFilterPtr(filter));
    EXPECT_TRUE(weak.expired());
  }
}

TEST_F(FilterPtrTest, LockingRacesWithTheLastOwner) {
  for (int round = 0; round < 500; ++round) {
    FilterPtr filter = Make();
    const WeakFilterPtr weak(filter);
    std::atomic<bool> start{false};
    std::thread other([&] {
      while (!start.load()) continue;
      const FilterPtr locked = weak.lock();
      EXPECT_TRUE(locked == nullptr || locked->ItemCount() == 0);
    });
    start = true;
    filter.reset();
    other.join();
    ASSERT_TRUE(weak.expired());
  }
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

}  // namespace
}  // namespace bitsieve::core
