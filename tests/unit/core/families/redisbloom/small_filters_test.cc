// RedisBloom's types while their filters are small: they have the same content as the chains that replace them when
// they grow, and take no more memory than RedisBloom's own.
#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <random>

#include "core/families/redisbloom/redis_bloom.h"
#include "core/families/redisbloom/redis_bloom_filter.h"
#include "core/families/redisbloom/redis_cuckoo.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"
#include "core/memory/memory_source.h"

namespace bitsieve::core {
namespace {

std::string Item(uint64_t number) { return "item" + std::to_string(number); }

FilterParams BloomParams(double rate, uint64_t capacity, uint32_t expansion) {
  FilterParams params;
  params.type = kRedisBloomType;
  params.error_rate = rate;
  params.capacity = capacity;
  params.expansion = expansion;
  return Settled(params);
}

FilterParams CuckooParams(uint64_t capacity, uint32_t bucket_size, uint32_t expansion) {
  FilterParams params;
  params.type = kRedisCuckooType;
  params.hash = HashKind::kRedisCuckoo;
  params.capacity = capacity;
  params.expansion = expansion;
  SetRedisCuckooParams(params, {bucket_size, 20});
  return params;
}

AddOutcome Add(Filter& filter, const KeyHash& hash) {
  AddOutcome outcome;
  EXPECT_EQ(filter.Add({&hash, 1}, {&outcome, 1}), 1U);
  return outcome;
}
bool Has(const Filter& filter, const KeyHash& hash) {
  uint8_t present = 2;
  filter.MayContain({&hash, 1}, {&present, 1});
  return present == 1;
}
bool Remove(Filter& filter, const KeyHash& hash) {
  uint8_t removed = 0;
  EXPECT_EQ(filter.Remove({&hash, 1}, {&removed, 1}), 1U);
  return removed == 1;
}
std::string ImageOf(const Filter& filter) {
  const auto image = filter.Capture();
  std::string body(image->body_bytes(), '\0');
  EXPECT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
  return image->header() + body;
}
std::string PiecesOf(const RedisBloomFilter& filter) {
  std::string bits;
  for (std::string piece = "x"; !piece.empty(); bits += piece) piece = filter.ReadPiece(bits.size(), 1000);
  return bits;
}

class SmallRedisBloom : public testing::TestWithParam<std::tuple<double, uint64_t, uint32_t>> {
 protected:
  FilterParams Params() const {
    const auto& [rate, capacity, expansion] = GetParam();
    return BloomParams(rate, capacity, expansion);
  }
  std::unique_ptr<Filter> Make() { return std::move(MakeFilter(Params(), budget_, SystemClock()).value()); }
  // Returns a filter that is a chain of sub-filters from the beginning.
  std::unique_ptr<ScalableFilter> MakeChain() {
    const SubFilterShape shape = RedisBloomChain::FirstShape(kRedisBloomChain, Params()).value();
    std::vector<std::unique_ptr<SubFilter>> first;
    first.push_back(std::move(MakeSubFilter(shape, budget_).value()));
    return std::move(ScalableFilter::MakeChain(kRedisBloomChain, Params(), std::move(first), budget_).value());
  }

  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(Parameters, SmallRedisBloom,
                         testing::Combine(testing::Values(0.25, 0.01, 1e-6),
                                          testing::Values(1, 3, 100, 743, 1000, 40'000, 60'000),
                                          testing::Values(0, 1, 2, 4)));

TEST_P(SmallRedisBloom, DoesWhatAChainDoes) {
  const auto filter = Make();
  const auto chain = MakeChain();
  const uint64_t items = std::min<uint64_t>(Params().capacity * 12, 200'000);
  const uint64_t compared = std::max<uint64_t>(items / 12, 1);
  for (uint64_t i = 0; i < items; ++i) {
    const KeyHash hash = filter->HashOf(Item(i % 7 == 6 ? i / 2 : i));  // some of them again
    const bool had_room = filter->HasRoomForOne();
    ASSERT_EQ(Add(*filter, hash), Add(*chain, hash)) << i;
    ASSERT_EQ(had_room && filter->SubFilters() > chain->SubFilters(), false);
    if (i % compared != 0) continue;
    ASSERT_EQ(filter->ItemCount(), chain->ItemCount());
    ASSERT_EQ(filter->SubFilters(), chain->SubFilters());
    ASSERT_EQ(filter->size_bytes(), chain->size_bytes());
    ASSERT_EQ(filter->Info().fill_ratio, chain->Info().fill_ratio);
    ASSERT_TRUE(ImageOf(*filter) == ImageOf(*chain)) << i;
  }
  uint64_t differ = 0;
  for (uint64_t i = items; i < items + 20'000; ++i) {
    const KeyHash hash = filter->HashOf(Item(i));
    differ += Has(*filter, hash) != Has(*chain, hash);
  }
  EXPECT_EQ(differ, 0U);
  EXPECT_EQ(filter->EstimatedErrorRate(), chain->EstimatedErrorRate());
}

TEST_P(SmallRedisBloom, CopiesAndPiecesAreTheSame) {
  const auto filter = Make();
  const uint64_t items = std::min<uint64_t>(Params().capacity * 5, 100'000);
  for (uint64_t i = 0; i < items; ++i) Add(*filter, filter->HashOf(Item(i)));
  const auto copy = CloneFilter(*filter, budget_, SystemClock()).value();
  EXPECT_TRUE(ImageOf(*copy) == ImageOf(*filter));
  EXPECT_EQ(copy->ChangeCount(), filter->ChangeCount());
  auto& bloom = dynamic_cast<RedisBloomFilter&>(*filter);
  const std::string bits = PiecesOf(bloom);
  EXPECT_TRUE(ImageOf(bloom).ends_with(bits));
  auto empty = Make();
  EXPECT_EQ(dynamic_cast<RedisBloomFilter&>(*empty).WritePiece(0, bits), empty->SubFilters() == filter->SubFilters());
  EXPECT_TRUE(dynamic_cast<RedisBloomFilter&>(*copy).WritePiece(0, bits.substr(0, 8)));
  EXPECT_TRUE(ImageOf(*copy) == ImageOf(*filter));
  EXPECT_GT(copy->ChangeCount(), filter->ChangeCount());
}

TEST_P(SmallRedisBloom, GivesAllMemoryBack) {
  {
    const auto filter = Make();
    for (uint64_t i = 0; i < std::min<uint64_t>(Params().capacity * 9, 100'000); ++i) {
      Add(*filter, filter->HashOf(Item(i)));
    }
    EXPECT_GT(budget_.used_bytes(), 0U);
  }
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

class SmallRedisCuckoo : public testing::TestWithParam<std::tuple<uint64_t, uint32_t, uint32_t>> {
 protected:
  FilterParams Params() const {
    const auto& [capacity, bucket_size, expansion] = GetParam();
    return CuckooParams(capacity, bucket_size, expansion);
  }
  std::unique_ptr<Filter> Make() { return std::move(MakeFilter(Params(), budget_, SystemClock()).value()); }
  std::unique_ptr<RedisCuckooChain> MakeChain() {
    const RedisCuckooHeader header = RedisCuckooHeaderFor(Params());
    std::vector<std::unique_ptr<RedisCuckooTable>> tables;
    tables.push_back(std::move(RedisCuckooTable::Make(header.buckets, header.bucket_size, budget_).value()));
    return std::move(RedisCuckooChain::FromTables(header, std::move(tables), budget_).value());
  }

  MemoryBudget budget_;
};

INSTANTIATE_TEST_SUITE_P(Parameters, SmallRedisCuckoo,
                         testing::Combine(testing::Values(2, 64, 1000, 1024, 16'384, 40'000),
                                          testing::Values(1, 2, 3, 4), testing::Values(0, 1, 2)));

TEST_P(SmallRedisCuckoo, DoesWhatAChainDoes) {
  const auto filter = Make();
  const auto chain = MakeChain();
  std::mt19937_64 random(7);
  const uint64_t items = std::min<uint64_t>(Params().capacity * 4, 50'000);
  const uint64_t compared = std::max<uint64_t>(items / 10, 1);
  for (uint64_t i = 0; i < items; ++i) {
    const KeyHash hash = filter->HashOf(Item(random() % items));
    if (random() % 3 == 0) {
      ASSERT_EQ(Remove(*filter, hash), Remove(*chain, hash)) << i;
    } else {
      ASSERT_EQ(Add(*filter, hash), Add(*chain, hash)) << i;
    }
    if (i % compared != 0) continue;
    uint64_t count = 0, of_chain = 0;
    filter->Count({&hash, 1}, {&count, 1});
    chain->Count({&hash, 1}, {&of_chain, 1});
    ASSERT_EQ(count, of_chain);
    ASSERT_EQ(filter->ItemCount(), chain->ItemCount());
    ASSERT_EQ(filter->SubFilters(), chain->SubFilters());
    ASSERT_EQ(filter->EstimatedErrorRate(), chain->EstimatedErrorRate());
    ASSERT_TRUE(ImageOf(*filter) == ImageOf(*chain)) << i;
  }
  uint64_t differ = 0;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const KeyHash hash = filter->HashOf(Item(i));
    differ += Has(*filter, hash) != Has(*chain, hash);
  }
  EXPECT_EQ(differ, 0U);
  const auto copy = CloneFilter(*filter, budget_, SystemClock()).value();
  EXPECT_TRUE(ImageOf(*copy) == ImageOf(*filter));
}

TEST_P(SmallRedisCuckoo, GivesAllMemoryBack) {
  {
    const auto filter = Make();
    for (uint64_t i = 0; i < Params().capacity * 2; ++i) Add(*filter, filter->HashOf(Item(i)));
    EXPECT_GT(budget_.used_bytes(), 0U);
  }
  EXPECT_EQ(budget_.used_bytes(), 0U);
}

// ---- memory, whose allocator is not the sanitizers'

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
uint64_t HeapInUse() {
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// The measured and the reported heap bytes of one filter, as means over many.
struct Taken {
  double measured = 0;
  double reported = 0;
};
Taken Measure(const std::function<std::unique_ptr<Filter>()>& make, uint64_t items, size_t filters) {
  std::vector<std::unique_ptr<Filter>> held(filters);
  {
    const auto first = make();  // from then on there is what all of them share
    Add(*first, first->HashOf(Item(0)));
  }
  const uint64_t before = HeapInUse();
  Taken taken;
  for (auto& filter : held) {
    filter = make();
    for (uint64_t i = 0; i < items; ++i) Add(*filter, filter->HashOf(Item(i)));
    taken.reported += static_cast<double>(filter->heap_bytes());
  }
  taken.measured = static_cast<double>(HeapInUse() - before) / static_cast<double>(filters);
  taken.reported /= static_cast<double>(filters);
  return taken;
}

TEST(SmallFilterMemory, BloomTakesAtMostWhatRedisBloomTakes) {
  MemoryBudget budget;
  for (const uint64_t capacity : {1, 10, 100, 743, 1000, 3000}) {
    for (const uint64_t items : {capacity, 3 * capacity, 7 * capacity}) {
      const FilterParams params = BloomParams(0.01, capacity, 2);
      const auto make = [&] { return std::move(MakeFilter(params, budget, SystemClock()).value()); };
      const auto filter = make();
      for (uint64_t i = 0; i < items; ++i) Add(*filter, filter->HashOf(Item(i)));
      const std::vector<SubFilterInfo> sub_filters = filter->DescribeSubFilters();
      uint64_t redisbloom = BlockBytes(32) + BlockBytes(64 * sub_filters.size());
      for (const SubFilterInfo& each : sub_filters) redisbloom += BlockBytes(each.bytes);
      EXPECT_LE(filter->heap_bytes(), redisbloom) << capacity << ", " << items;
    }
  }
}

TEST(SmallFilterMemory, CuckooTakesAtMostWhatRedisBloomTakes) {
  MemoryBudget budget;
  for (const uint64_t capacity : {8, 64, 1000, 1024, 4096, 16'384}) {
    const auto filter = std::move(MakeFilter(CuckooParams(capacity, 2, 1), budget, SystemClock()).value());
    const uint64_t slots = filter->Info().capacity;
    EXPECT_LE(filter->heap_bytes(), BlockBytes(40) + BlockBytes(16) + BlockBytes(slots)) << capacity;
  }
}

class FilterMemory : public testing::TestWithParam<const FilterTypeRow*> {};
INSTANTIATE_TEST_SUITE_P(Types, FilterMemory, testing::ValuesIn(FilterTypes().begin(), FilterTypes().end()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST_P(FilterMemory, IsReportedToWithinATenth) {
  MemoryBudget budget;
  for (const uint64_t capacity : {8, 100, 1000, 10'000}) {
    for (const uint64_t items : {uint64_t{1}, uint64_t{7}, capacity}) {
      FilterParams params;
      params.type = GetParam()->type;
      params.capacity = capacity;
      if (params.type == kRedisCuckooType) params = CuckooParams(capacity, 2, 1);
      const auto make = [&] { return std::move(MakeFilter(params, budget, SystemClock()).value()); };
      if (!MakeFilter(params, budget, SystemClock())) continue;
      const Taken taken = Measure(make, items, capacity > 10'000 ? 4 : 200);
      EXPECT_NEAR(taken.reported / taken.measured, 1, 0.1) << capacity << ", " << items << ": " << taken.measured;
    }
  }
}
#endif

}  // namespace
}  // namespace bitsieve::core
