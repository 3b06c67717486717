#include "core/families/ribbon/ribbon_filter.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "core/families/ribbon/ribbon_type.h"
#include "core/filter/filter_factory.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {
namespace {

class RibbonFilterTest : public testing::Test {
 protected:
  void SetUp() override { hashes_ = std::move(HashSet::Make(budget_).value()); }
  void Insert(uint64_t items) {
    for (uint64_t i = 0; i < items; ++i) ASSERT_EQ(hashes_->Insert(Mix64(i + 1)), HashSet::Outcome::kAdded);
  }
  static FilterParams Params(uint64_t capacity, double rate) {
    FilterParams params;
    params.type = kRibbonType;
    params.capacity = capacity;
    params.error_rate = rate;
    params.expansion = 0;
    ShareForStatedCapacity(params);
    return params;
  }
  static uint64_t Found(const Filter& filter, uint64_t first, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t i = first; i < end; ++i) {
      const KeyHash hash{.low = Mix64(i + 1), .high = 0};
      uint8_t present = 0;
      filter.MayContain({&hash, 1}, {&present, 1});
      found += present;
    }
    return found;
  }

  MemoryBudget budget_;
  std::unique_ptr<HashSet> hashes_;
};

TEST_F(RibbonFilterTest, HasItsItemsAndFewOthers) {
  Insert(100'000);
  const auto filter =
      RibbonFilter::Build(Params(100'000, 0.01), *hashes_, budget_, [](uint64_t, uint64_t) { return true; });
  ASSERT_TRUE(filter && *filter);
  EXPECT_EQ((*filter)->ItemCount(), 100'000U);
  EXPECT_EQ(Found(**filter, 0, 100'000), 100'000U);
  EXPECT_LT(Found(**filter, 200'000, 300'000), 1'200U);
  EXPECT_NEAR((*filter)->EstimatedErrorRate().value(), 0.01, 0.001);
  EXPECT_EQ((*filter)->Info().freeze.state, FreezeState::kFrozen);
}

TEST_F(RibbonFilterTest, TakesNoFurtherItem) {
  Insert(10);
  const auto filter = RibbonFilter::Build(Params(10, 0.01), *hashes_, budget_, [](uint64_t, uint64_t) { return true; });
  ASSERT_TRUE(filter && *filter);
  const KeyHash hash{.low = 1, .high = 2};
  AddOutcome outcome{};
  EXPECT_EQ((*filter)->Add({&hash, 1}, {&outcome, 1}), 1U);
  EXPECT_EQ(outcome, AddOutcome::kFrozen);
  EXPECT_EQ((*filter)->ItemCount(), 10U);
}

TEST_F(RibbonFilterTest, BuildingReportsItsProgressAndCanBeStopped) {
  Insert(300'000);
  uint64_t last = 0, all = 0;
  const auto stopped = RibbonFilter::Build(Params(300'000, 0.01), *hashes_, budget_, [&](uint64_t done, uint64_t of) {
    last = done;
    all = of;
    return done < 2;
  });
  ASSERT_TRUE(stopped);
  EXPECT_EQ(*stopped, nullptr);
  EXPECT_EQ(last, 2U);
  EXPECT_GT(all, 2U);
}

TEST_F(RibbonFilterTest, NeedsTheMemoryOfItsResult) {
  Insert(100'000);
  budget_.set_limit_bytes(budget_.used_bytes() + 10'000);
  const auto refused =
      RibbonFilter::Build(Params(100'000, 0.01), *hashes_, budget_, [](uint64_t, uint64_t) { return true; });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemory);
}

TEST_F(RibbonFilterTest, IsAsLargeAsItsForecast) {
  Insert(100'000);
  const auto filter =
      RibbonFilter::Build(Params(100'000, 0.001), *hashes_, budget_, [](uint64_t, uint64_t) { return true; });
  const auto forecast = RibbonFilter::ForecastOf(Params(100'000, 0.001), 100'000);
  ASSERT_TRUE(filter && forecast);
  EXPECT_NEAR(static_cast<double>((*filter)->size_bytes()), static_cast<double>(forecast->size_bytes),
              0.02 * static_cast<double>(forecast->size_bytes));
}

TEST_F(RibbonFilterTest, MemoryThatContradictsItsHeaderIsCorrupt) {
  const RibbonHeader header{
      .params = Params(10, 0.01), .frozen = true, .items = 10, .shape = {.columns = 6, .shards = 1, .words = 16}};
  BitMemory memory = std::move(BitMemory::Allocate(header.body_bytes(), budget_).value());
  std::memset(memory.data(), 0xFF, header.body_bytes());
  const auto filter = RibbonFilter::FromMemory(header, std::move(memory), budget_);
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace bitsieve::core
