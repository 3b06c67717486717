#include "server/persistence/disk/data_directory.h"

#include <gtest/gtest.h>

#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

TEST(DataDirectory, ServesOneAtATime) {
  MemoryDisk disk;
  {
    const auto first = DataDirectory::Open(disk, "/data");
    ASSERT_TRUE(Ok(first));
    const auto second = DataDirectory::Open(disk, "/data");
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message.find("/data/LOCK: held by"), std::string::npos);
    EXPECT_TRUE(Ok(DataDirectory::Open(disk, "/other")));
  }
  EXPECT_TRUE(Ok(DataDirectory::Open(disk, "/data")));
}

TEST(DataDirectory, KnowsItsFilesByName) {
  EXPECT_EQ(DataDirectory::FilterFileName(17), "17.filter");
  EXPECT_EQ(DataDirectory::FilterFileId("17.filter"), 17u);
  EXPECT_EQ(DataDirectory::FilterFileId("1.filter"), 1u);
  for (const char* name : {"0.filter", "017.filter", "-1.filter", "+1.filter", " 1.filter", "1.filter ", "1x.filter",
                           ".filter", "filter", "1", "", "1.filter.1", "18446744073709551615.filter",
                           "99999999999999999999999.filter", "4611686018427387904.filter"}) {
    EXPECT_EQ(DataDirectory::FilterFileId(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace bitsieve::server
