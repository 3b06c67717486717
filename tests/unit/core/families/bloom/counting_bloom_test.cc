#include "core/families/bloom/counting_bloom.h"

#include <gtest/gtest.h>

#include "core/families/bloom/bloom_types.h"
#include "core/families/bloom/classic_bloom.h"
#include "core/families/bloom/fold.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::core {
namespace {

class CountingBloomTest : public testing::TestWithParam<uint32_t> {
 protected:
  std::unique_ptr<CountingBloom> Make(uint64_t capacity, double rate) {
    const SubFilterShape shape = CountingBloom::ShapeFor(capacity, rate, GetParam());
    EXPECT_TRUE(IsValid(shape));
    return std::make_unique<CountingBloom>(shape, std::move(*BitMemory::Allocate(shape.SizeBytes(), budget_)));
  }
  uint64_t Largest() const { return (uint64_t{1} << GetParam()) - 1; }

  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(CounterBits, CountingBloomTest, testing::Values(4, 8));

TEST_P(CountingBloomTest, TakesItsBitsTimesTheTextbooks) {
  const SubFilterShape bits = ClassicBloom::ShapeFor(1'000'000, 0.01);
  const SubFilterShape counters = CountingBloom::ShapeFor(1'000'000, 0.01, GetParam());
  EXPECT_EQ(FoldableSize(counters.bits), bits.bits);
  EXPECT_EQ(counters.hash_functions, bits.hash_functions);
  EXPECT_EQ(counters.MemoryBits(), counters.bits * GetParam());
}

TEST_P(CountingBloomTest, CountsUpAndDown) {
  const auto sub_filter = Make(100, 1e-6);
  const KeyHash hash = HashItem("item", 1);
  EXPECT_FALSE(sub_filter->Lower(hash).there);
  EXPECT_EQ(sub_filter->CountSet(sub_filter->memory().bytes()), 0U);
  const CounterChange first = sub_filter->Raise(hash);
  EXPECT_FALSE(first.there);
  EXPECT_TRUE(first.changed);
  EXPECT_EQ(first.bits_set, sub_filter->CountSet(sub_filter->memory().bytes()));
  EXPECT_GE(first.bits_set, sub_filter->shape().hash_functions - 2);
  for (uint64_t count = 2; count < 10; ++count) {
    const CounterChange again = sub_filter->Raise(hash);
    EXPECT_TRUE(again.there && again.changed && again.bits_set == 0);
    EXPECT_EQ(sub_filter->Count(hash), count);
  }
  for (uint64_t count = 9; count > 1; --count) {
    EXPECT_EQ(sub_filter->Count(hash), count);
    EXPECT_TRUE(sub_filter->Lower(hash).changed);
  }
  EXPECT_EQ(sub_filter->Lower(hash).bits_set, uint64_t{0} - first.bits_set);
  EXPECT_EQ(sub_filter->Count(hash), 0U);
  EXPECT_EQ(sub_filter->CountSet(sub_filter->memory().bytes()), 0U);
}

// So small that an item hits places twice, and every place is shared.
TEST_P(CountingBloomTest, PlacesHitTwiceCountOnce) {
  const auto sub_filter = Make(1, 0.001);
  const KeyHash hash = HashItem("item", 1);
  sub_filter->Raise(hash);
  sub_filter->Raise(hash);
  EXPECT_EQ(sub_filter->Count(hash), 2U);
  sub_filter->Lower(hash);
  EXPECT_EQ(sub_filter->Count(hash), 1U);
  sub_filter->Lower(hash);
  EXPECT_EQ(CountSetBits(sub_filter->memory().bytes()), 0U);
}

TEST_P(CountingBloomTest, SaturatedCountersStayForEver) {
  const auto sub_filter = Make(100, 0.001);
  const KeyHash full = HashItem("full", 1);
  for (uint64_t i = 0; i < Largest(); ++i) EXPECT_TRUE(sub_filter->Raise(full).changed);
  EXPECT_EQ(sub_filter->Count(full), Largest());
  const uint64_t bits = CountSetBits(sub_filter->memory().bytes());
  EXPECT_EQ(bits, sub_filter->CountSet(sub_filter->memory().bytes()) * GetParam());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(sub_filter->Raise(full).changed);
    EXPECT_FALSE(sub_filter->Lower(full).changed);
  }
  EXPECT_EQ(sub_filter->Count(full), Largest());
  EXPECT_EQ(CountSetBits(sub_filter->memory().bytes()), bits) << "no neighbour was touched";
}

TEST_P(CountingBloomTest, LoweringWhatIsNotThereChangesNothing) {
  const auto sub_filter = Make(50, 0.05);
  for (int i = 0; i < 50; ++i) sub_filter->Raise(HashItem("there" + std::to_string(i), 1));
  const std::vector<std::byte> before(sub_filter->memory().bytes().begin(), sub_filter->memory().bytes().end());
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const KeyHash hash = HashItem("absent" + std::to_string(i), 1);
    if (sub_filter->Contains(hash)) continue;
    const CounterChange change = sub_filter->Lower(hash);
    EXPECT_TRUE(!change.there && !change.changed && change.bits_set == 0);
    ++refused;
  }
  EXPECT_GT(refused, 800);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), sub_filter->memory().data()));
}

TEST_P(CountingBloomTest, FilterOfSaturatedItemsTellsSo) {
  FilterParams params;
  params.type = kCountingType;
  SetCounterBits(params, GetParam());
  params.error_rate = 1e-6;
  auto filter = std::move(*MakeFilter(params, budget_, SystemClock()));
  std::vector<KeyHash> hashes(1000, filter->HashOf("again"));
  std::vector<AddOutcome> outcomes(1000);
  EXPECT_EQ(filter->Add(hashes, outcomes), 1000U);
  EXPECT_EQ(filter->ItemCount(), Largest()) << "an addition that changes nothing is not counted";
  uint64_t count = 0;
  filter->Count({hashes.data(), 1}, std::span(&count, 1));
  EXPECT_EQ(count, Largest());
  const uint64_t changes = filter->ChangeCount();
  std::vector<uint8_t> removed(1000);
  filter->Remove(hashes, removed);
  EXPECT_EQ(std::count(removed.begin(), removed.end(), 1), 0);
  EXPECT_EQ(filter->ItemCount(), Largest());
  EXPECT_EQ(filter->ChangeCount(), changes);
  EXPECT_EQ(CounterBitsOf(filter->params()), GetParam());
}

}  // namespace
}  // namespace bitsieve::core
