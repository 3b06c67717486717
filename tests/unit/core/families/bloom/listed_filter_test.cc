// Growing Bloom filters that hold so few items that they are a list of hashes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "core/base/checksum.h"
#include "core/families/bloom/bloom_types.h"
#include "core/families/bloom/chain_codec.h"
#include "core/families/bloom/scalable_filter.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_union.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {
namespace {

using enum AddOutcome;

class ListedFilterTest : public testing::TestWithParam<FilterType> {
 protected:
  FilterParams Params(uint32_t expansion = 2) const {
    FilterParams params;
    params.type = GetParam();
    params.expansion = expansion;
    params.error_rate = 1e-4;  // so low that items are rarely taken for one another once there are bits
    params.seed = 7;
    expansion == 0 ? ShareForStatedCapacity(params) : ShareForGrowth(params);
    return params;
  }
  std::unique_ptr<Filter> Make(const FilterParams& params) {
    return std::move(MakeFilter(params, budget_, SystemClock()).value());
  }
  // Returns a filter with items [0, items).
  std::unique_ptr<Filter> MakeWith(uint64_t items) {
    auto filter = Make(Params());
    for (uint64_t i = 0; i < items; ++i) EXPECT_EQ(Add(*filter, i), kAdded) << i;
    return filter;
  }
  size_t Room() const { return ScalableFilter::ListRoom(Chain(), Params()); }
  const ChainType& Chain() const { return GetParam() == kBlockedType ? kBlockedChain : kClassicChain; }

  static AddOutcome Add(Filter& filter, uint64_t item) {
    const KeyHash hash = filter.HashOf(std::to_string(item));
    AddOutcome outcome;
    EXPECT_EQ(filter.Add({&hash, 1}, {&outcome, 1}), 1U);
    return outcome;
  }
  static bool Has(const Filter& filter, uint64_t item) {
    const KeyHash hash = filter.HashOf(std::to_string(item));
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }
  static bool IsListed(const Filter& filter) {
    return static_cast<const ScalableFilter&>(filter).AllSubFilters().empty();
  }

  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(Types, ListedFilterTest, testing::Values(kClassicType, kBlockedType),
                         [](const auto& test) { return std::string(FilterTypeName(test.param)); });

TEST_P(ListedFilterTest, IsNeverWrong) {
  const auto filter = MakeWith(Room());
  ASSERT_TRUE(IsListed(*filter));
  for (uint64_t i = 0; i < 100'000; ++i) ASSERT_EQ(Has(*filter, i), i < Room()) << i;
  EXPECT_EQ(filter->EstimatedErrorRate(), 0.0);
  for (uint64_t i = 0; i < Room(); ++i) EXPECT_EQ(Add(*filter, i), kPresent);
}

TEST_P(ListedFilterTest, TakesBitsWhenTheyAreTheSmallerForm) {
  EXPECT_GE(Room(), 8U);
  EXPECT_LE(Room(), HashList::kMaxHashes);
  const auto filter = MakeWith(Room());
  const uint64_t listed = filter->size_bytes();
  EXPECT_EQ(Add(*filter, Room()), kAdded);
  EXPECT_FALSE(IsListed(*filter));
  EXPECT_GT(filter->size_bytes(), listed);
  EXPECT_EQ(filter->ItemCount(), Room() + 1);
  for (uint64_t i = 0; i <= Room(); ++i) EXPECT_TRUE(Has(*filter, i)) << i;
}

TEST_P(ListedFilterTest, OneBatchTakesItThroughAllForms) {
  for (const uint64_t items : {size_t{1}, Room(), Room() + 1, size_t{64}, size_t{500}}) {
    const auto filter = Make(Params()), one_by_one = MakeWith(items);
    std::vector<KeyHash> hashes;
    for (uint64_t i = 0; i < items; ++i) hashes.push_back(filter->HashOf(std::to_string(i)));
    hashes.push_back(hashes.front());
    std::vector<AddOutcome> outcomes(hashes.size());
    EXPECT_EQ(filter->Add(hashes, outcomes), hashes.size());
    EXPECT_EQ(outcomes.back(), kPresent);
    EXPECT_EQ(filter->ItemCount(), one_by_one->ItemCount());
    EXPECT_EQ(DumpFilter(*filter).value(), DumpFilter(*one_by_one).value());
  }
}

TEST_P(ListedFilterTest, OnlySmallOnesThatGrowAreListed) {
  EXPECT_TRUE(IsListed(*Make(Params())));
  EXPECT_FALSE(IsListed(*Make(Params(0)))) << "it does not grow";
  FilterParams large = Params();
  large.capacity = 100'000;
  EXPECT_FALSE(IsListed(*Make(large))) << "its memory was asked for in words";
  FilterParams tiny = Params();
  tiny.capacity = 3;
  const auto filter = Make(tiny);
  for (uint64_t i = 0; i < 2; ++i) EXPECT_EQ(Add(*filter, i), kAdded);
  EXPECT_TRUE(IsListed(*filter));
  EXPECT_EQ(Add(*filter, 2), kAdded);
  EXPECT_EQ(filter->Info().sub_filters, 1U);
  EXPECT_EQ(Add(*filter, 3), kAdded);
  EXPECT_EQ(filter->Info().sub_filters, 2U) << "its capacity counts in this form, too";
}

TEST_P(ListedFilterTest, InfoIsOfTheFilterThatItIs) {
  const auto filter = MakeWith(3);
  const FilterInfo info = filter->Info();
  EXPECT_EQ(info.items, 3U);
  EXPECT_EQ(info.capacity, 100U);
  EXPECT_EQ(info.sub_filters, 1U);
  EXPECT_EQ(info.fill_ratio, 0);
  EXPECT_EQ(info.bits_per_item, 0);
  EXPECT_GT(info.hash_functions, 0U);
  EXPECT_EQ(info.size_bytes, filter->size_bytes());
  ASSERT_EQ(filter->DescribeSubFilters().size(), 1U);
  EXPECT_EQ(filter->DescribeSubFilters()[0].items, 3U);
  EXPECT_EQ(filter->DescribeSubFilters()[0].bits, 0U);
  EXPECT_FALSE(filter->TouchesFreshPages(1'000'000));
}

TEST_P(ListedFilterTest, MemoryIsAccountedFor) {
  for (uint64_t items = 0; items <= Room() + 1; ++items) {
    const auto filter = MakeWith(items);
    EXPECT_EQ(budget_.used_bytes(), filter->size_bytes()) << items;
  }
  EXPECT_EQ(budget_.used_bytes(), 0U);
  EXPECT_LE(sizeof(ScalableFilter), 104U) << "of which a server may hold millions";
}

TEST_P(ListedFilterTest, RefusedMemoryChangesNothing) {
  for (uint64_t items = 0; items <= Room(); ++items) {
    const auto filter = MakeWith(items);
    budget_.set_limit_bytes(budget_.used_bytes());
    const AddOutcome outcome = Add(*filter, items);
    EXPECT_TRUE(outcome == kAdded || outcome == kOutOfMemory);
    EXPECT_EQ(filter->ItemCount(), items + (outcome == kAdded));
    EXPECT_EQ(Has(*filter, items), outcome == kAdded);
    for (uint64_t i = 0; i < items; ++i) EXPECT_EQ(Add(*filter, i), kPresent);
    if (items == 0) {
      EXPECT_EQ(outcome, kAdded) << "the first needs none";
    }
    if (items == Room()) {
      EXPECT_EQ(outcome, kOutOfMemory);
    }
    budget_.set_limit_bytes(0);
    EXPECT_EQ(Add(*filter, items), outcome == kAdded ? kPresent : kAdded);
  }
  budget_.set_limit_bytes(10);
  EXPECT_EQ(MakeFilter(Params(), budget_, SystemClock()).error().code, ErrorCode::kOutOfMemory);
}

TEST_P(ListedFilterTest, ComesBackFromItsImageAndGoesOn) {
  for (uint64_t items = 0; items <= Room() + 1; ++items) {
    const auto filter = MakeWith(items);
    const auto back = std::move(*CloneFilter(*filter, budget_, SystemClock()));
    EXPECT_EQ(IsListed(*back), items <= Room());
    EXPECT_EQ(back->ItemCount(), items);
    EXPECT_EQ(SummarizeImage(filter->Capture()->header())->items, items);
    EXPECT_EQ(SummarizeImage(filter->Capture()->header())->capacity, 100U);
    for (uint64_t i = 0; i < 3 * Room(); ++i) EXPECT_EQ(Add(*back, i), Add(*filter, i));
    EXPECT_EQ(DumpFilter(*back).value(), DumpFilter(*filter).value());
  }
}

TEST_P(ListedFilterTest, AnImageIsOfItsMoment) {
  const auto filter = MakeWith(2);
  const auto image = filter->Capture();
  for (uint64_t i = 2; i < 100; ++i) Add(*filter, i);
  const auto then = std::move(*FilterDecoder::Open(image->header(), budget_, SystemClock()).value()->Finish());
  EXPECT_EQ(then->ItemCount(), 2U);
  EXPECT_FALSE(Has(*then, 2));
}

TEST_P(ListedFilterTest, HostileHeadersAreRefused) {
  const KeyHash a{1, 2}, b{1, 3};
  const auto refusal = [&](const FilterParams& params, const std::vector<KeyHash>& hashes) {
    const auto decoder = FilterDecoder::Open(EncodeListHeader(params, hashes), budget_, SystemClock());
    return decoder ? "accepted" : decoder.error().message;
  };
  EXPECT_EQ(refusal(Params(), {a, b}), "accepted");
  EXPECT_THAT(refusal(Params(), {a, b, a}), testing::HasSubstr("appears twice"));
  std::vector<KeyHash> many;
  for (uint64_t i = 0; i <= Room(); ++i) many.push_back({i, i});
  EXPECT_THAT(refusal(Params(), many), testing::HasSubstr("number of hashes"));
  EXPECT_THAT(refusal(Params(0), {a}), testing::HasSubstr("no sub-filters"));
  const std::string good = EncodeListHeader(Params(), std::vector{a, b});
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(SummarizeImage(good.substr(0, size))) << size;
}

// The format is frozen: existing snapshots contain it.
TEST_P(ListedFilterTest, BytesAreAsTheyWere) {
  const std::string bytes = EncodeListHeader(Params(), std::vector<KeyHash>{{1, 2}, {UINT64_MAX, 3}});
  EXPECT_EQ(bytes.size(), 56U + 4 + 4 + 2 * 16 + 8);
  EXPECT_EQ(Checksum(bytes), GetParam() == kBlockedType ? 1717678026830673274U : 10952340538059920070U);
}

TEST_P(ListedFilterTest, IsUnitedWithOthersOfEitherForm) {
  for (const uint64_t ours : {uint64_t{0}, uint64_t{3}, uint64_t{60}}) {
    for (const uint64_t theirs : {uint64_t{0}, uint64_t{2}, uint64_t{30}}) {
      const auto destination = MakeWith(ours), source = Make(Params());
      for (uint64_t i = 0; i < theirs; ++i) EXPECT_LE(Add(*source, 1000 + i), kAdded);
      const Filter* both[] = {destination.get(), source.get()};
      EXPECT_NEAR(EstimateUnion(both).value(), static_cast<double>(ours + theirs), 4);
      const auto united = std::move(Unite(both, budget_, SystemClock()).value());
      const uint64_t changes = destination->ChangeCount();
      ASSERT_TRUE(UniteInto(*destination, {both + 1, 1}));
      EXPECT_GT(destination->ChangeCount(), changes);
      for (const auto* filter : {&united, &destination}) {
        for (uint64_t i = 0; i < ours; ++i) EXPECT_TRUE(Has(**filter, i)) << i;
        for (uint64_t i = 0; i < theirs; ++i) EXPECT_TRUE(Has(**filter, 1000 + i)) << i;
        EXPECT_NEAR(static_cast<double>((*filter)->ItemCount()), static_cast<double>(ours + theirs), 4);
      }
    }
  }
}

// An item that a reader knows to be added is never missing, while the list grows and turns into bits.
TEST_P(ListedFilterTest, ReadersNeverMissWhatWasAdded) {
  for (int round = 0; round < 200; ++round) {
    const auto filter = Make(Params());
    std::atomic<uint64_t> added{0};
    std::atomic<bool> missed{false};
    std::thread reader([&] {
      for (uint64_t seen = 0; seen < 40;) {
        seen = added.load(std::memory_order_acquire);
        for (uint64_t i = 0; i < seen; ++i) missed = missed || !Has(*filter, i);
        missed = missed || filter->ItemCount() + 2 < seen;  // false positives are not counted
      }
    });
    for (uint64_t i = 0; i < 40; ++i) {
      Add(*filter, i);
      added.store(i + 1, std::memory_order_release);
    }
    reader.join();
    ASSERT_FALSE(missed);
  }
}

}  // namespace
}  // namespace bitsieve::core
