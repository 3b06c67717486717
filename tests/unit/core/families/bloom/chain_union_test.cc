#include "core/families/bloom/chain_union.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "core/families/bloom/bloom_types.h"
#include "core/families/bloom/scalable_filter.h"
#include "core/filter/filter.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::core {
namespace {

using testing::HasSubstr;

class ChainUnionTest : public testing::Test {
 protected:
  std::unique_ptr<Filter> Make(FilterType type, uint64_t capacity, uint64_t seed = 42) {
    FilterParams params;
    params.type = type;
    params.capacity = capacity;
    params.seed = seed;
    ShareForStatedCapacity(params);
    return std::move(MakeFilter(params, budget_, SystemClock()).value());
  }
  static void Fill(Filter& filter, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const KeyHash hash = filter.HashOf(std::to_string(i));
      AddOutcome outcome{};
      filter.Add({&hash, 1}, {&outcome, 1});
      ASSERT_LE(outcome, AddOutcome::kAdded);
    }
  }
  static bool Shows(const Filter& filter, uint64_t item) {
    const KeyHash hash = filter.HashOf(std::to_string(item));
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }

  MemoryBudget budget_;
};

TEST_F(ChainUnionTest, BelongsToTheTypesThatAreChains) {
  for (const FilterType type : {kBlockedType, kClassicType}) EXPECT_EQ(FindFilterType(type)->unite, &kChainUnion);
  EXPECT_NE(FindFilterType("cuckoo")->unite, &kChainUnion);
}

TEST_F(ChainUnionTest, TheFirstDifferenceIsNamed) {
  const auto first = Make(kBlockedType, 1000);
  const auto refusal = [&](const Filter& other) {
    const std::array<const Filter*, 2> both = {first.get(), &other};
    return kChainUnion.estimate(both).error().message;
  };
  EXPECT_THAT(refusal(*Make(kBlockedType, 1000, 43)), HasSubstr("seed: 42 and 43"));
  EXPECT_THAT(refusal(*Make(kBlockedType, 2000)), HasSubstr("capacity: 1000 and 2000"));
}

TEST_F(ChainUnionTest, AFilterWithoutBitsYetIsAnEmptyOne) {
  const auto empty = Make(kBlockedType, 1000), other = Make(kBlockedType, 1000);
  Fill(*other, 0, 500);
  const std::array<const Filter*, 2> both = {empty.get(), other.get()};
  EXPECT_NEAR(kChainUnion.estimate(both).value(), 500, 32);
  EXPECT_EQ(empty->ItemCount(), 0U);
}

TEST_F(ChainUnionTest, ADestinationMayBeItsOwnSource) {
  const auto filter = Make(kClassicType, 1000);
  Fill(*filter, 0, 500);
  const uint64_t items = filter->ItemCount();
  const std::array<const Filter*, 2> sources = {filter.get(), filter.get()};
  ASSERT_TRUE(kChainUnion.into(*filter, sources));
  EXPECT_EQ(filter->ItemCount(), items);
}

TEST_F(ChainUnionTest, ARefusedUnionChangesNothing) {
  const auto destination = Make(kBlockedType, 100), grown = Make(kBlockedType, 100);
  Fill(*destination, 0, 50);
  Fill(*grown, 1000, 1500);
  ASSERT_GT(grown->SubFilters(), 1U);
  const uint64_t items = destination->ItemCount(), changes = destination->ChangeCount();
  const std::array<const Filter*, 1> sources = {grown.get()};
  const Status united = kChainUnion.into(*destination, sources);
  ASSERT_FALSE(united);
  EXPECT_EQ(united.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(destination->ItemCount(), items);
  EXPECT_EQ(destination->ChangeCount(), changes);
}

// A source that has the destination take further items after the items of the union were estimated.
class LateAdder : public ScalableFilter {
 public:
  using ScalableFilter::ScalableFilter;
  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override {
    if (before_answer) before_answer();
    ScalableFilter::MayContain(hashes, present);
  }
  std::function<void()> before_answer;

 private:
  const ChainType& chain_type() const override { return kClassicChain; }
};

// No reader takes back a sub-filter that counts more items than its capacity.
TEST_F(ChainUnionTest, ItemsAddedAfterTheEstimateDoNotMakeASubFilterCountMoreThanItsCapacity) {
  constexpr uint64_t kCapacity = 2000, kLate = 4;
  ChainType late_type = kClassicChain;
  late_type.make_empty = [](const FilterParams& params, MemoryBudget& budget) -> std::unique_ptr<ScalableFilter> {
    return std::make_unique<LateAdder>(params, budget);
  };
  int tried = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto destination = Make(kClassicType, kCapacity, seed);
    const auto source = ScalableFilter::Make(late_type, destination->params(), budget_).value();
    for (Filter* filter : {destination.get(), source.get()}) Fill(*filter, 0, kCapacity - kLate);
    const std::array<const Filter*, 2> both = {destination.get(), source.get()};
    if (kChainUnion.estimate(both).value() < kCapacity) continue;
    ++tried;
    static_cast<LateAdder&>(*source).before_answer = [&] { Fill(*destination, kCapacity, kCapacity + kLate); };
    const std::array<const Filter*, 1> sources = {source.get()};
    ASSERT_TRUE(kChainUnion.into(*destination, sources));
    EXPECT_EQ(destination->ItemCount(), kCapacity);
    const auto copy = CloneFilter(*destination, budget_, SystemClock());
    EXPECT_TRUE(copy) << copy.error().message;
  }
  EXPECT_GT(tried, 0);
}

// The longest chain gives the new filter its length, wherever it stands.
TEST_F(ChainUnionTest, ANewFilterHoldsTheItemsOfShorterChains) {
  const auto brief = Make(kBlockedType, 100), grown = Make(kBlockedType, 100);
  Fill(*brief, 0, 10);
  Fill(*grown, 0, 500);
  const std::array<const Filter*, 2> both = {brief.get(), grown.get()};
  const auto united = kChainUnion.make(both, budget_, SystemClock());
  ASSERT_TRUE(united) << united.error().message;
  EXPECT_EQ((*united)->SubFilters(), grown->SubFilters());
  for (uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(Shows(**united, i)) << i;
}

}  // namespace
}  // namespace bitsieve::core
