#include "server/persistence/snapshot/saved_state.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

TEST(PackRecordsTest, ARecordShowsAFilterUntilItChanges) {
  PackRecords records;
  records.Add(100, ChangesOf(3, 4));
  records.Add(100, ChangesOf(0, 0));
  EXPECT_EQ(records.size(), 2U);
  EXPECT_TRUE(records.Shows(0, ChangesOf(3, 4)));
  EXPECT_FALSE(records.Shows(0, ChangesOf(4, 4)));
  EXPECT_FALSE(records.Shows(0, ChangesOf(3, 5)));
  EXPECT_TRUE(records.Shows(1, 0));
  EXPECT_FALSE(records.Shows(2, 0)) << "there is no such record";
}

TEST(PackRecordsTest, ARecordOfUnknownContentShowsNoFilter) {
  PackRecords records;
  records.AddUnknown(100);
  for (const uint64_t changes : {uint64_t{0}, uint64_t{UINT32_MAX}, std::numeric_limits<uint64_t>::max()}) {
    EXPECT_FALSE(records.Shows(0, changes)) << changes;
  }
  EXPECT_GE(records.bytes(0), 100U);
}

TEST(PackRecordsTest, MoreChangesThanItCanCountAreUnknown) {
  constexpr uint64_t kMost = UINT32_MAX - uint64_t{1};
  PackRecords records;
  for (const uint64_t changes : {kMost, kMost + 1, kMost + 2}) records.Add(100, changes);
  EXPECT_TRUE(records.Shows(0, kMost));
  EXPECT_FALSE(records.Shows(1, kMost + 1));
  EXPECT_FALSE(records.Shows(2, kMost + 2)) << "it would be taken for any other that large";
  EXPECT_FALSE(records.Shows(0, kMost + (uint64_t{1} << 32))) << "only the lower half is the same";
}

TEST(PackRecordsTest, LengthsAreNeverTooShort) {
  PackRecords records;
  for (uint64_t bytes = 0; bytes <= 65'536; bytes += 4'369) records.Add(bytes, 1);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_GE(records.bytes(i), i * 4'369);
    EXPECT_LE(records.bytes(i), i * 4'369 + 1);
  }
}

TEST(ChangesSoFarTest, GrowsWithNamesAndWithContents) {
  TestKeyspace keyspace;
  const uint64_t before = ChangesSoFar(keyspace.registry);
  const commands::FilterPtr filter = keyspace.Make("a");
  const uint64_t named = ChangesSoFar(keyspace.registry);
  EXPECT_GT(named, before);
  AddItem(*filter, "item");
  const uint64_t added = ChangesSoFar(keyspace.registry);
  EXPECT_GT(added, named);
  EXPECT_TRUE(HasItem(*filter, "item"));
  EXPECT_EQ(ChangesSoFar(keyspace.registry), added) << "a lookup is no change";
  keyspace.registry.Remove("a");
  EXPECT_GT(ChangesSoFar(keyspace.registry), added);
}

}  // namespace
}  // namespace bitsieve::server
