#include "core/families/bloom/scalable_filter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <numeric>
#include <thread>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::core {
namespace {

class ScalableFilterTest : public testing::TestWithParam<FilterType> {
 protected:
  std::unique_ptr<Filter> Make(double rate, uint64_t capacity, uint32_t expansion, bool stated = true,
                               double ratio = kDefaultTighteningRatio) {
    FilterParams params;
    params.type = GetParam();
    params.error_rate = rate;
    params.capacity = capacity;
    params.expansion = expansion;
    params.tightening_ratio = ratio;
    params.seed = 42;
    stated ? ShareForStatedCapacity(params) : ShareForGrowth(params);
    auto filter = MakeFilter(params, budget_, SystemClock());
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }

  // Types that can remove count every addition; the others each item once.
  static uint64_t Counted(const Filter& filter, uint64_t additions, uint64_t items) {
    return filter.capabilities().remove ? additions : items;
  }

  static std::vector<KeyHash> Hashes(const Filter& filter, uint64_t first, size_t count) {
    std::vector<KeyHash> hashes(count);
    for (size_t i = 0; i < count; ++i) hashes[i] = filter.HashOf(std::to_string(first + i));
    return hashes;
  }
  static std::vector<AddOutcome> Add(Filter& filter, uint64_t first, size_t count) {
    std::vector<AddOutcome> outcomes(count);
    outcomes.resize(filter.Add(Hashes(filter, first, count), outcomes));
    return outcomes;
  }
  static size_t Found(const Filter& filter, uint64_t first, size_t count) {
    std::vector<uint8_t> present(count);
    filter.MayContain(Hashes(filter, first, count), present);
    return std::accumulate(present.begin(), present.end(), size_t{0});
  }

  static std::string BytesOf(const Filter& filter) {
    const std::unique_ptr<FilterImage> image = filter.Capture();
    std::string bytes(image->body_bytes(), '\0');
    EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(bytes))));
    return image->header() + bytes;
  }

  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(Types, ScalableFilterTest, testing::Values(kClassicType, kBlockedType, kCountingType),
                         [](const auto& test) { return std::string(FilterTypeName(test.param)); });

using enum AddOutcome;

TEST_P(ScalableFilterTest, NonscalingIsFullAtItsCapacityAndStillKnowsItsItems) {
  const auto filter = Make(1e-6, 3, 0);
  EXPECT_EQ(Add(*filter, 0, 3), (std::vector{kAdded, kAdded, kAdded}));
  EXPECT_EQ(Add(*filter, 2, 1), std::vector{kPresent});
  EXPECT_EQ(Add(*filter, 1, 5), (std::vector{kPresent, kPresent, kFull}));  // the loop stops there
  EXPECT_EQ(filter->ItemCount(), Counted(*filter, 6, 3));
  EXPECT_EQ(filter->Info().sub_filters, 1U);
}

TEST_P(ScalableFilterTest, GrowsByItsExpansion) {
  const auto filter = Make(0.001, 100, 3);
  Add(*filter, 0, 20'000);
  const FilterInfo info = filter->Info();
  EXPECT_EQ(info.sub_filters, 6U);  // 100 + 300 + 900 + 2700 + 8100 = 12100 < about 20000
  EXPECT_EQ(info.capacity, 100U * (1 + 3 + 9 + 27 + 81 + 243));
  EXPECT_EQ(Found(*filter, 0, 20'000), 20'000U);
}

TEST_P(ScalableFilterTest, ExpansionOneDoesNotGrowSubFilterBySubFilterForEver) {
  const auto filter = Make(0.01, 10, 1);
  Add(*filter, 0, 100'000);
  EXPECT_LT(filter->Info().sub_filters, 45U);  // equal sub-filters would be 10,000
  EXPECT_EQ(Found(*filter, 0, 100'000), 100'000U);
}

TEST_P(ScalableFilterTest, RateOfTheWholeChainStaysBelowTheAskedOne) {
  for (const bool stated : {true, false}) {
    const auto filter = Make(0.01, 50, 2, stated);
    Add(*filter, 0, 50'000);
    EXPECT_GE(filter->Info().sub_filters, 10U);
    const double rate = static_cast<double>(Found(*filter, 1'000'000, 1'000'000)) / 1e6;
    EXPECT_LE(rate, 0.0105) << stated;
    EXPECT_NEAR(filter->EstimatedErrorRate().value() / rate, 1, 0.15) << stated;
  }
}

TEST_P(ScalableFilterTest, GrowingIsRefusedWhenNoRateIsLeft) {
  const auto filter = Make(1e-9, 1, 1, true, 0.01);
  const auto outcomes = Add(*filter, 0, 1000);
  EXPECT_EQ(outcomes.back(), kCannotGrow);
  EXPECT_EQ(outcomes.size(), 1000U);  // the loop goes on
  EXPECT_EQ(outcomes.front(), kAdded);
}

TEST_P(ScalableFilterTest, MemoryLimitRefusesGrowthAndChangesNothing) {
  const auto filter = Make(0.01, 1000, 2);
  budget_.set_limit_bytes(budget_.used_bytes() + 100);
  const auto outcomes = Add(*filter, 0, 3000);
  EXPECT_GT(std::count(outcomes.begin(), outcomes.end(), kOutOfMemory), 1900) << "all but false positives";
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kAdded), 1000);
  const uint64_t used = budget_.used_bytes();
  budget_.set_limit_bytes(0);
  EXPECT_EQ(Add(*filter, 5000, 1), std::vector{kAdded});
  EXPECT_GT(budget_.used_bytes(), used);
}

TEST_P(ScalableFilterTest, BudgetIsExactAndReturned) {
  {
    const auto filter = Make(0.01, 1000, 2);
    Add(*filter, 0, 10'000);
    EXPECT_EQ(budget_.used_bytes(), filter->Info().size_bytes);
  }
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

TEST_P(ScalableFilterTest, AddsWithinOneBatchSeeEachOther) {
  const auto filter = Make(1e-6, 1000, 2);
  std::vector<KeyHash> hashes(200, filter->HashOf("same"));
  std::vector<AddOutcome> outcomes(200);
  EXPECT_EQ(filter->Add(hashes, outcomes), 200U);
  EXPECT_EQ(std::count(outcomes.begin(), outcomes.end(), kAdded), 1);
  EXPECT_EQ(outcomes[0], kAdded);
}

// A batch for which there is room takes another way than one that fills a sub-filter, or comes while an image is open.
TEST_P(ScalableFilterTest, BatchesDoWhatSingleAdditionsDo) {
  for (const uint64_t capacity : {1, 63, 64, 65, 128, 200}) {
    const auto batched = Make(0.01, capacity, 2), imaged = Make(0.01, capacity, 2), single = Make(0.01, capacity, 2);
    for (uint64_t first = 0; first < 1500; first += 48) {  // a quarter of each batch was in the one before
      const std::vector<AddOutcome> outcomes = Add(*batched, first, 64);
      const std::unique_ptr<FilterImage> image = imaged->Capture();
      ASSERT_EQ(Add(*imaged, first, 64), outcomes) << capacity;
      for (size_t i = 0; i < 64; ++i) ASSERT_EQ(Add(*single, first + i, 1), std::vector{outcomes[i]}) << capacity;
    }
    EXPECT_EQ(BytesOf(*batched), BytesOf(*single)) << capacity;
    EXPECT_EQ(BytesOf(*batched), BytesOf(*imaged)) << capacity;
  }
}

TEST_P(ScalableFilterTest, InfoAddsUp) {
  const auto filter = Make(0.01, 10'000, 2);
  Add(*filter, 0, 10'000);
  const FilterInfo info = filter->Info();
  EXPECT_EQ(info.items, filter->ItemCount());
  EXPECT_NEAR(info.fill_ratio, 0.5, 0.06);
  const double bits_per_place = GetParam() == kCountingType ? kCounterBits.default_value : 1;
  EXPECT_NEAR(info.bits_per_item / bits_per_place, 10.4, 0.6);
  EXPECT_GE(info.hash_functions, 6U);
}

// Threads race on the same items, across growth: the answers "new" add up to the number of distinct items.
TEST_P(ScalableFilterTest, NewIsToldExactlyOnce) {
  constexpr int kThreads = 4;
  constexpr uint64_t kItems = 20'000;
  constexpr size_t kBatch = 16;
  const auto filter = Make(1e-9, 64, 2);  // so low a rate that no item is taken for another
  std::barrier start(kThreads);
  std::atomic<uint64_t> told_new{0}, additions{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (uint64_t i = 0; i < kItems; i += kBatch) {
        const size_t count = t % 2 == 0 ? kBatch : kBatch / 2 + i % 3;  // batches that overlap in part
        const auto outcomes = Add(*filter, i, std::min<uint64_t>(count, kItems - i));
        additions += outcomes.size();
        told_new += static_cast<uint64_t>(std::count(outcomes.begin(), outcomes.end(), kAdded));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told_new, kItems);
  EXPECT_EQ(filter->ItemCount(), Counted(*filter, additions, kItems));
  EXPECT_EQ(Found(*filter, 0, kItems), kItems);
}

TEST_P(ScalableFilterTest, CapacityIsExactUnderRacingThreads) {
  constexpr int kThreads = 4;
  const auto filter = Make(1e-9, 5000, 0);
  std::barrier start(kThreads);
  std::atomic<uint64_t> told_new{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (uint64_t i = 0; i < 2000; i += 10) {
        const auto outcomes = Add(*filter, t * 1'000'000 + i, 10);
        told_new += static_cast<uint64_t>(std::count(outcomes.begin(), outcomes.end(), kAdded));
        if (outcomes.back() == kFull) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told_new, 5000U);
  EXPECT_EQ(filter->ItemCount(), 5000U);
}

// No item that a reader knows to be added is ever missing, whatever other threads add.
TEST_P(ScalableFilterTest, ReadersNeverMissWhatWasAdded) {
  const auto filter = Make(0.01, 128, 2);
  constexpr uint64_t kItems = 30'000;
  std::atomic<uint64_t> published{0};
  std::atomic<bool> missed{false};
  std::thread writer([&] {
    for (uint64_t i = 0; i < kItems; i += 10) {
      Add(*filter, i, 10);
      published.store(i + 10, std::memory_order_release);
    }
  });
  std::thread other([&] {
    for (uint64_t i = 0; i < kItems; i += 10) Add(*filter, 5'000'000 + i, 10);
  });
  for (uint64_t seen = 0; seen < kItems;) {
    seen = published.load(std::memory_order_acquire);
    const uint64_t first = seen < 500 ? 0 : seen - 500;
    if (Found(*filter, first, seen - first) != seen - first) missed = true;
  }
  writer.join();
  other.join();
  EXPECT_FALSE(missed);
}

// More than are remembered, and each of them twice.
TEST(ScalableFilterShapes, AreThoseOfTheirParametersHoweverManyAreInUse) {
  MemoryBudget budget;
  FilterParams params;
  for (int round = 0; round < 2; ++round) {
    for (const FilterType type : {kBlockedType, kClassicType, kCountingType}) {
      for (uint64_t capacity = 100; capacity < 105; ++capacity) {
        for (const double rate : {0.01, 0.02}) {
          for (const uint32_t counter_bits : {4U, 8U}) {
            params = {.type = type, .error_rate = rate, .capacity = capacity, .expansion = 0};
            if (type == kCountingType) SetCounterBits(params, counter_bits);
            const auto filter = MakeFilter(params, budget, SystemClock());
            ASSERT_TRUE(filter);
            const SubFilterShape shape = static_cast<const ScalableFilter&>(**filter).AllSubFilters()[0]->shape();
            EXPECT_EQ(shape, shape.layout->shape_for(capacity, RateOfSubFilter(params, 0), params));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace bitsieve::core
