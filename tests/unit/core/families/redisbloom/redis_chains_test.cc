// The chains that RedisBloom's filters become once they are large.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/families/redisbloom/redis_bloom_chain.h"
#include "core/families/redisbloom/redis_cuckoo_chain.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {
namespace {

FilterParams BloomParams(uint32_t expansion) {
  FilterParams params;
  params.type = kRedisBloomType;
  params.capacity = 1000;
  params.error_rate = 0.01;
  params.expansion = expansion;
  return Settled(params);
}

TEST(RedisBloomChain, TheFirstSubFilterHasHalfTheRateIfTheFilterGrows) {
  const auto growing = RedisBloomChain::FirstShape(kRedisBloomChain, BloomParams(2));
  const auto fixed = RedisBloomChain::FirstShape(kRedisBloomChain, BloomParams(0));
  ASSERT_TRUE(growing && fixed);
  EXPECT_DOUBLE_EQ(growing->error_rate, 0.005);
  EXPECT_DOUBLE_EQ(fixed->error_rate, 0.01);
  EXPECT_EQ(growing->capacity, 1000U);
  EXPECT_GT(growing->bits, fixed->bits);
}

TEST(RedisBloomChain, ReportsWhatRedisBloomReports) {
  const auto shape = RedisBloomChain::FirstShape(kRedisBloomChain, BloomParams(2));
  ASSERT_TRUE(shape);
  EXPECT_EQ(RedisBloomChain::ReportedBytes(), 32U);
  EXPECT_EQ(RedisBloomChain::ReportedBytesOf(*shape), 64 + shape->bits / 8);
}

class RedisCuckooChainTest : public testing::Test {
 protected:
  static constexpr uint64_t kBuckets = 256;

  std::unique_ptr<RedisCuckooChain> Make(uint16_t expansion, size_t tables = 1) {
    RedisCuckooHeader header{
        .buckets = kBuckets, .filters = tables, .bucket_size = 2, .max_iterations = 20, .expansion = expansion};
    std::vector<std::unique_ptr<RedisCuckooTable>> made;
    for (size_t i = 0; i < tables; ++i) {
      made.push_back(std::move(RedisCuckooTable::Make(header.TableBytes(i) / 2, 2, budget_).value()));
    }
    return std::move(RedisCuckooChain::FromTables(header, std::move(made), budget_).value());
  }
  static KeyHash HashOfNumber(uint64_t number) { return {Mix64(number), 0}; }
  static AddOutcome Add(RedisCuckooChain& chain, uint64_t number) {
    const KeyHash hash = HashOfNumber(number);
    AddOutcome outcome{};
    chain.Add({&hash, 1}, {&outcome, 1});
    return outcome;
  }
  static uint64_t Found(const RedisCuckooChain& chain, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t i = 0; i < end; ++i) {
      const KeyHash hash = HashOfNumber(i);
      uint8_t present = 0;
      chain.MayContain({&hash, 1}, {&present, 1});
      found += present;
    }
    return found;
  }
  static std::string Body(const RedisCuckooChain& chain) {
    std::string body;
    for (;;) {
      const std::string chunk = chain.ReadChunk(body.size(), 100);
      if (chunk.empty()) return body;
      body += chunk;
    }
  }

  MemoryBudget budget_;
};

TEST_F(RedisCuckooChainTest, GrowsAndKeepsItsItems) {
  const auto chain = Make(2);
  for (uint64_t i = 0; i < 3'000; ++i) ASSERT_NE(Add(*chain, i), AddOutcome::kFull) << i;
  EXPECT_GT(chain->filters(), 1U);
  EXPECT_EQ(Found(*chain, 3'000), 3'000U);
  EXPECT_EQ(chain->ItemCount(), 3'000U);
  EXPECT_EQ(chain->Header().items, 3'000U);
  EXPECT_EQ(chain->Header().filters, chain->filters());
}

TEST_F(RedisCuckooChainTest, WithoutExpansionItGetsFull) {
  const auto chain = Make(0);
  uint64_t added = 0;
  while (Add(*chain, added) != AddOutcome::kFull) ++added;
  EXPECT_EQ(chain->filters(), 1U);
  EXPECT_LE(added, 2 * kBuckets);
  EXPECT_EQ(Found(*chain, added), added);
}

TEST_F(RedisCuckooChainTest, CompactionMovesItemsToOlderSubFilters) {
  const auto chain = Make(2);
  for (uint64_t i = 0; i < 3'000; ++i) Add(*chain, i);
  std::vector<KeyHash> removed;
  for (uint64_t i = 1'000; i < 3'000; ++i) removed.push_back(HashOfNumber(i));
  std::vector<uint8_t> done(removed.size());
  chain->Remove(removed, done);
  EXPECT_EQ(std::ranges::count(done, 1), 2'000);
  const uint64_t filters = chain->filters();
  chain->Compact();
  EXPECT_LT(chain->filters(), filters);
  EXPECT_EQ(Found(*chain, 1'000), 1'000U);
  EXPECT_EQ(chain->ItemCount(), 1'000U);
}

TEST_F(RedisCuckooChainTest, ChunksAreWrittenInPlace) {
  const auto from = Make(1, 2);
  for (uint64_t i = 0; i < 200; ++i) Add(*from, i);
  const std::string body = Body(*from);
  EXPECT_EQ(body.size(), from->Header().BodyBytes());
  const auto to = Make(1, 2);
  const size_t first = from->Header().TableBytes(0);
  EXPECT_FALSE(to->WriteChunk(0, body)) << "of two sub-filters";
  EXPECT_EQ(to->ItemCount(), 0U);
  EXPECT_TRUE(to->WriteChunk(0, std::string_view(body).substr(0, first)));
  EXPECT_TRUE(to->WriteChunk(first, std::string_view(body).substr(first)));
  EXPECT_EQ(Body(*to), body);
  EXPECT_EQ(to->ItemCount(), 200U);
  EXPECT_EQ(Found(*to, 200), 200U);
}

TEST_F(RedisCuckooChainTest, AnAbsentItemIsComparedWithTheFingerprintsOfTwoBuckets) {
  EXPECT_NEAR(RedisCuckooChain::Compared(1 << 20, 1 << 20), 2, 0.01);
  EXPECT_DOUBLE_EQ(RedisCuckooChain::Compared(1, 10), 10) << "both buckets are one";
}

}  // namespace
}  // namespace bitsieve::core
