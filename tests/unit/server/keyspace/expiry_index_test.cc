#include "server/keyspace/expiry_index.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

ExpiryIndex::Item At(int64_t ms, size_t shard = 0) { return {.expires_ms = ms, .shard = shard, .entry = nullptr}; }

TEST(ExpiryIndex, TheSoonestIsNext) {
  ExpiryIndex index;
  EXPECT_EQ(index.next_ms(), ExpiryIndex::kNever);
  index.Insert(At(300));
  index.Insert(At(100));
  index.Insert(At(200));
  EXPECT_EQ(index.next_ms(), 100);
  index.Erase(At(100));
  EXPECT_EQ(index.next_ms(), 200);
  index.Erase(At(200));
  index.Erase(At(300));
  EXPECT_EQ(index.next_ms(), ExpiryIndex::kNever);
}

TEST(ExpiryIndex, CountsWhatIsDueAndSumsTheRest) {
  ExpiryIndex index;
  for (size_t shard = 0; shard < 5; ++shard) index.Insert(At(100, shard));
  index.Insert(At(101));
  EXPECT_EQ(index.CountDue(99), 0U);
  EXPECT_EQ(index.CountDue(100), 5U);
  EXPECT_EQ(index.CountDue(1'000), 6U);
  EXPECT_TRUE(index.sum_ms() == 601);
  index.Erase(At(100, 3));
  EXPECT_EQ(index.CountDue(100), 4U);
  EXPECT_TRUE(index.sum_ms() == 501);
}

TEST(ExpiryIndex, TheSumDoesNotWrapAround) {
  ExpiryIndex index;
  for (size_t shard = 0; shard < 4; ++shard) index.Insert(At(INT64_MAX - 1, shard));
  EXPECT_TRUE(index.sum_ms() == __int128{4} * (INT64_MAX - 1));
}

TEST(ExpiryIndex, TakeAllEmptiesIt) {
  ExpiryIndex index;
  index.Insert(At(100));
  ExpiryIndex::Items all;
  index.TakeAll(all);
  EXPECT_EQ(all.size(), 1U);
  EXPECT_TRUE(index.items().empty());
  EXPECT_EQ(index.next_ms(), ExpiryIndex::kNever);
  EXPECT_TRUE(index.sum_ms() == 0);
}

}  // namespace
}  // namespace bitsieve::server
