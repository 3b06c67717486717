#include "core/filter/filter_union.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {
namespace {

using testing::HasSubstr;

class FilterUnionTest : public testing::TestWithParam<FilterType> {
 protected:
  FilterParams Params(uint64_t capacity, uint32_t expansion = 2) const {
    FilterParams params;
    params.type = GetParam();
    params.capacity = capacity;
    params.expansion = expansion;
    params.seed = 42;
    ShareForStatedCapacity(params);
    return params;
  }
  std::unique_ptr<Filter> Make(const FilterParams& params) {
    return std::move(MakeFilter(params, budget_, SystemClock()).value());
  }
  static void Add(Filter& filter, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const KeyHash hash = filter.HashOf(std::to_string(i));
      AddOutcome outcome;
      filter.Add({&hash, 1}, {&outcome, 1});
      ASSERT_LE(outcome, AddOutcome::kAdded);
    }
  }
  static bool Has(const Filter& filter, uint64_t item) {
    const KeyHash hash = filter.HashOf(std::to_string(item));
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }
  static std::string BytesOf(const Filter& filter) {
    const auto image = filter.Capture();
    std::string bytes(image->body_bytes(), '\0');
    EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  }

  MemoryBudget budget_;
};

TEST_P(FilterUnionTest, EqualsAFilterToWhichAllWasAdded) {
  const auto a = Make(Params(10'000)), b = Make(Params(10'000)), all = Make(Params(10'000));
  Add(*a, 0, 4'000);
  Add(*b, 3'000, 8'000);
  Add(*all, 0, 8'000);
  const Filter* both[] = {a.get(), b.get()};
  const auto united = Unite(both, budget_, SystemClock()).value();
  EXPECT_EQ(BytesOf(*united), BytesOf(*all)) << "the order of adding does not show";
  EXPECT_NEAR(static_cast<double>(united->ItemCount()), 8'000, 90);
  EXPECT_NEAR(EstimateUnion(both).value(), 8'000, 90);
  EXPECT_NEAR(EstimateUnion({both, 1}).value(), 4'000, 64);
  EXPECT_DOUBLE_EQ(united->Info().fill_ratio, all->Info().fill_ratio);
}

// Returns the hashes of those of `count` items, from `begin` on, that the filter shows as present.
std::vector<KeyHash> Shown(const Filter& filter, uint64_t begin, uint64_t count) {
  std::vector<KeyHash> shown;
  for (uint64_t i = begin; i < begin + count; ++i) {
    const KeyHash hash = filter.HashOf(std::to_string(i));
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    if (present != 0) shown.push_back(hash);
  }
  return shown;
}

TEST_P(FilterUnionTest, KeepsTheFalsePositivesThatNoneOfTheFiltersShows) {
  if (!FindFilterType(GetParam())->can.deny) GTEST_SKIP() << "it denies none";
  FilterParams params = Params(1'000);
  params.error_rate = 0.25;
  const auto a = Make(params), b = Make(params), c = Make(params);
  Add(*a, 0, 900);
  Add(*b, 100, 1'000);
  constexpr uint64_t kFirstAbsent = 100'000;
  std::vector<KeyHash> known;
  for (Filter* filter : {a.get(), b.get()}) {
    const std::vector<KeyHash> wrong = Shown(*filter, kFirstAbsent, 400);
    std::vector<RecordOutcome> outcomes(wrong.size());
    filter->RecordFalsePositives(wrong, outcomes);
    known.insert(known.end(), wrong.begin(), wrong.end());
  }
  // Items of b that a shows by chance, and that are noted in a.
  const std::vector<KeyHash> of_b = Shown(*a, 900, 100);
  ASSERT_FALSE(of_b.empty());
  std::vector<RecordOutcome> noted(of_b.size());
  a->RecordFalsePositives(of_b, noted);
  const Filter* both[] = {a.get(), b.get()};
  const Filter* sources[] = {b.get()};
  const auto united = Unite(both, budget_, SystemClock()).value();
  ASSERT_TRUE(UniteInto(*a, sources));
  for (const Filter* filter : {united.get(), a.get()}) {
    for (uint64_t i = 0; i < 1'000; ++i) ASSERT_TRUE(Has(*filter, i)) << i;
    std::vector<uint8_t> present(known.size());
    filter->MayContain(known, present);
    EXPECT_EQ(std::ranges::count(present, 1), 0);
  }
  const auto empty = Make(params);
  const Filter* none[] = {empty.get()};
  const auto list = a->KnownFalsePositives();
  ASSERT_TRUE(UniteInto(*a, none));
  EXPECT_EQ(a->KnownFalsePositives(), list) << "an empty filter changes nothing";
}

TEST_P(FilterUnionTest, GoesOnGrowingAndComesBackFromItsImage) {
  const auto a = Make(Params(1'000)), b = Make(Params(1'000));
  Add(*a, 0, 500);
  Add(*b, 500, 1'000);
  const Filter* both[] = {a.get(), b.get()};
  const auto united = Unite(both, budget_, SystemClock()).value();
  Add(*united, 1'000, 3'000);
  EXPECT_EQ(united->Info().sub_filters, 2u);
  const auto again = CloneFilter(*united, budget_, SystemClock()).value();
  for (uint64_t i = 0; i < 3'000; ++i) EXPECT_TRUE(Has(*again, i)) << i;
}

TEST_P(FilterUnionTest, TheLongestChainGivesTheLength) {
  const auto brief = Make(Params(1'000)), grown = Make(Params(1'000));
  Add(*brief, 0, 300);
  Add(*grown, 0, 2'000);
  for (const auto& order : {std::pair(brief.get(), grown.get()), std::pair(grown.get(), brief.get())}) {
    const Filter* both[] = {order.first, order.second};
    const auto united = Unite(both, budget_, SystemClock()).value();
    EXPECT_EQ(united->Info().sub_filters, grown->Info().sub_filters);
    for (uint64_t i = 0; i < 2'000; ++i) EXPECT_TRUE(Has(*united, i)) << i;
    Add(*united, 2'000, 4'000);
    EXPECT_NEAR(EstimateUnion(both).value(), 2'000, 60);
  }
}

TEST_P(FilterUnionTest, OneFilterIsItself) {
  const auto a = Make(Params(1'000));
  Add(*a, 0, 1'500);
  const Filter* one[] = {a.get()};
  const auto united = Unite(one, budget_, SystemClock()).value();
  EXPECT_EQ(BytesOf(*united), BytesOf(*a));
  EXPECT_EQ(united->ItemCount(), a->ItemCount());
}

TEST_P(FilterUnionTest, WhatDiffersIsNamed) {
  const auto first = Make(Params(1'000));
  const auto message = [&](const FilterParams& params) {
    const auto other = Make(params);
    const Filter* both[] = {first.get(), other.get()};
    EXPECT_EQ(EstimateUnion(both).error().message, Unite(both, budget_, SystemClock()).error().message);
    return Unite(both, budget_, SystemClock()).error().message;
  };
  FilterParams params = Params(1'000);
  params.seed = 43;
  EXPECT_EQ(message(params), "they differ in their seed: 42 and 43");
  params = Params(1'000);
  params.hash = HashKind::kMurmur3;
  EXPECT_EQ(message(params), "they differ in their hash: xxh3 and murmur3");
  EXPECT_EQ(message(Params(2'000)), "they differ in their capacity: 1000 and 2000");
  params = Params(1'000);
  params.error_rate = 0.02;
  EXPECT_EQ(message(params), "they differ in their error rate: 0.008 and 0.016");
  params = Params(1'000);
  params.type = GetParam() == kClassicType ? kBlockedType : kClassicType;
  EXPECT_THAT(message(params), HasSubstr("they differ in their type: "));
}

// A union begins with the smallest filter, or with that which has grown most often.
TEST_P(FilterUnionTest, SmallerFiltersOfEveryOtherTypeAreRefused) {
  const auto first = Make(Params(1'000));
  size_t refused = 0;
  for (const FilterTypeRow* row : FilterTypes()) {
    if (row->type == GetParam()) continue;
    FilterParams params;
    params.type = row->type;
    const auto other = MakeFilter(Settled(params), budget_, SystemClock());
    if (!other) continue;  // a type that needs an option
    const Filter* both[] = {first.get(), other->get()};
    const std::string why =
        "they differ in their type: " + std::string(FilterTypeName(GetParam())) + " and " + std::string(row->name);
    EXPECT_EQ(Unite(both, budget_, SystemClock()).error().message, why);
    EXPECT_EQ(EstimateUnion(both).error().message, why);
    EXPECT_EQ(UniteInto(*first, std::span(both).subspan(1)).error().message, why);
    ++refused;
  }
  EXPECT_GE(refused, 7u);
}

TEST_P(FilterUnionTest, WhatWouldBreakThePromiseIsRefused) {
  const auto a = Make(Params(1'000)), b = Make(Params(1'000));
  Add(*a, 0, 800);
  Add(*b, 1'000, 1'800);
  const Filter* both[] = {a.get(), b.get()};
  const uint64_t used = budget_.used_bytes();
  EXPECT_THAT(Unite(both, budget_, SystemClock()).error().message, HasSubstr("but there is room for 1000"));
  EXPECT_EQ(budget_.used_bytes(), used);
  EXPECT_NEAR(EstimateUnion(both).value(), 1'600, 80) << "estimating is allowed";
}

TEST_P(FilterUnionTest, AFullOneKeepsItsRate) {
  const auto a = Make(Params(20'000, 0)), b = Make(Params(20'000, 0));
  Add(*a, 0, 12'000);
  Add(*b, 8'000, 20'000);
  const Filter* both[] = {a.get(), b.get()};
  const auto united = Unite(both, budget_, SystemClock()).value();
  uint64_t wrong = 0;
  for (uint64_t i = 1'000'000; i < 1'200'000; ++i) wrong += Has(*united, i);
  EXPECT_LE(static_cast<double>(wrong), 2'000 + 4 * std::sqrt(2'000.0));
}

TEST_P(FilterUnionTest, TheBudgetMayRefuse) {
  const auto a = Make(Params(1'000));
  const Filter* one[] = {a.get()};
  budget_.set_limit_bytes(budget_.used_bytes() + 10);
  EXPECT_EQ(Unite(one, budget_, SystemClock()).error().code, ErrorCode::kOutOfMemory);
}

// Every item that was added before the call is in the union, even if other items are added during it.
TEST_P(FilterUnionTest, InUse) {
  const auto a = Make(Params(100'000)), b = Make(Params(100'000));
  std::atomic<uint64_t> added{0};
  std::thread adder([&] {
    for (uint64_t i = 0; i < 60'000; ++i) {
      Add(i % 2 ? *a : *b, i, i + 1);
      added.store(i + 1, std::memory_order_release);
    }
  });
  const Filter* both[] = {a.get(), b.get()};
  while (added.load() < 60'000) {
    const uint64_t before = added.load(std::memory_order_acquire);
    const auto united = Unite(both, budget_, SystemClock()).value();
    for (uint64_t i = 0; i < before; ++i) ASSERT_TRUE(Has(*united, i)) << i;
  }
  adder.join();
}

TEST_P(FilterUnionTest, IntoOneThatIsThere) {
  const auto a = Make(Params(10'000)), b = Make(Params(10'000)), all = Make(Params(10'000));
  Add(*a, 0, 4'000);
  Add(*b, 3'000, 8'000);
  Add(*all, 0, 8'000);
  const uint64_t changes = a->ChangeCount();
  const Filter* sources[] = {a.get(), b.get()};
  ASSERT_TRUE(UniteInto(*a, sources));
  EXPECT_EQ(BytesOf(*a), BytesOf(*all));
  EXPECT_NEAR(static_cast<double>(a->ItemCount()), 8'000, 90);
  EXPECT_DOUBLE_EQ(a->Info().fill_ratio, all->Info().fill_ratio);
  EXPECT_GT(a->ChangeCount(), changes) << "so that it is saved";
  Add(*a, 8'000, 20'000);
  for (uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(Has(*a, i)) << i;
}

TEST_P(FilterUnionTest, IntoOneThatIsTooShortOrTooSmallChangesNothing) {
  const auto brief = Make(Params(1'000)), grown = Make(Params(1'000)), other = Make(Params(1'000));
  Add(*brief, 0, 800);
  Add(*grown, 0, 2'000);
  Add(*other, 1'000, 1'800);
  const std::string before = BytesOf(*brief);
  const Filter* longer[] = {grown.get()};
  EXPECT_THAT(UniteInto(*brief, longer).error().message,
              HasSubstr("the destination has 1 sub-filters, and another has grown to 2"));
  const Filter* too_many[] = {other.get()};
  EXPECT_THAT(UniteInto(*brief, too_many).error().message, HasSubstr("but there is room for 1000"));
  EXPECT_EQ(BytesOf(*brief), before);
  const Filter* shorter[] = {brief.get()};
  EXPECT_TRUE(UniteInto(*grown, shorter));
}

// Nothing that is added to the destination during the union is lost, and each of its items is reported new once.
TEST_P(FilterUnionTest, IntoOneInUse) {
  constexpr uint64_t kItems = 60'000;
  const auto destination = Make(Params(100'000)), source = Make(Params(100'000));
  Add(*source, 200'000, 201'000);
  std::atomic<bool> stop{false};
  std::thread uniter([&] {
    const Filter* sources[] = {source.get()};
    do {
      ASSERT_TRUE(UniteInto(*destination, sources));
    } while (!stop.load());
  });
  std::thread other([&] { Add(*destination, 0, kItems / 2); });
  Add(*destination, kItems / 2, kItems);
  other.join();
  stop.store(true);
  uniter.join();
  for (uint64_t i = 0; i < kItems; ++i) ASSERT_TRUE(Has(*destination, i)) << i;
  for (uint64_t i = 200'000; i < 201'000; ++i) ASSERT_TRUE(Has(*destination, i)) << i;
}

class CountingUnion : public testing::Test {
 protected:
  std::unique_ptr<Filter> Make(uint64_t capacity = 1'000, uint32_t counter_bits = 4) {
    FilterParams params;
    params.type = kCountingType;
    params.capacity = capacity;
    SetCounterBits(params, counter_bits);
    params.seed = 42;
    ShareForStatedCapacity(params);
    return std::move(MakeFilter(params, budget_, SystemClock()).value());
  }
  static KeyHash HashOf(const Filter& filter, int item) { return filter.HashOf(std::to_string(item)); }
  static void Add(Filter& filter, int item, int times = 1) {
    const KeyHash hash = HashOf(filter, item);
    AddOutcome outcome;
    for (int i = 0; i < times; ++i) filter.Add({&hash, 1}, {&outcome, 1});
  }
  static uint64_t Count(const Filter& filter, int item) {
    const KeyHash hash = HashOf(filter, item);
    uint64_t count = 0;
    filter.Count({&hash, 1}, {&count, 1});
    return count;
  }

  MemoryBudget budget_;
};

TEST_F(CountingUnion, AddsTheCountersUpToTheLargestValue) {
  const auto a = Make(), b = Make();
  Add(*a, 1, 2);
  Add(*b, 1, 3);
  Add(*b, 2, 4);
  Add(*a, 3, 10);
  Add(*b, 3, 10);
  const Filter* both[] = {a.get(), b.get()};
  const auto united = Unite(both, budget_, SystemClock()).value();
  EXPECT_EQ(Count(*united, 1), 5U);
  EXPECT_EQ(Count(*united, 2), 4U);
  EXPECT_EQ(Count(*united, 3), 15U) << "saturated, not overflowing into a neighbour";
  EXPECT_EQ(Count(*united, 4), 0U);
  EXPECT_EQ(united->ItemCount(), 29U);
  ASSERT_TRUE(UniteInto(*a, both));
  EXPECT_EQ(Count(*a, 1), 5U) << "itself counts once";
  EXPECT_NEAR(EstimateUnion(both).value(), 3, 1);
}

TEST_F(CountingUnion, WhatWasRemovedFromTheUnionLeavesTheRest) {
  const auto a = Make(), b = Make();
  for (int i = 0; i < 400; ++i) Add(*a, i);
  for (int i = 400; i < 800; ++i) Add(*b, i);
  const Filter* sources[] = {b.get()};
  ASSERT_TRUE(UniteInto(*a, sources));
  for (int i = 0; i < 800; i += 2) {
    const KeyHash hash = HashOf(*a, i);
    uint8_t removed = 0;
    a->Remove({&hash, 1}, {&removed, 1});
    ASSERT_EQ(removed, 1) << i;
  }
  for (int i = 1; i < 800; i += 2) ASSERT_NE(Count(*a, i), 0U) << i;
  EXPECT_EQ(a->ItemCount(), 400U);
}

TEST_F(CountingUnion, ThatHaveGrownOrDifferAreRefused) {
  const auto a = Make(100), grown = Make(100), wide = Make(100, 8);
  for (int i = 0; i < 200; ++i) Add(*grown, i);
  const Filter* both[] = {a.get(), grown.get()};
  EXPECT_THAT(Unite(both, budget_, SystemClock()).error().message,
              HasSubstr("a counting filter that has grown cannot be merged"));
  const Filter* widths[] = {a.get(), wide.get()};
  EXPECT_THAT(Unite(widths, budget_, SystemClock()).error().message,
              HasSubstr("they differ in their counter bits: 4 and 8"));
}

INSTANTIATE_TEST_SUITE_P(Types, FilterUnionTest, testing::Values(kClassicType, kBlockedType),
                         [](const auto& tested) { return std::string(FilterTypeName(tested.param)); });

}  // namespace
}  // namespace bitsieve::core
