// Packs whose records contradict each other, or another file: after a start, each name and each filter's id is there
// once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/persistence/disk/filter_file.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/disk/pack.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr uint64_t kNextId = 100;

struct Listed {
  std::string name;
  uint64_t id;
};

class PackRecoveryTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(disk_.CreateDirectory("/d") && disk_.CreateDirectory("/d/filters")); }

  void AddPack(const std::vector<Listed>& records) {
    PackBuilder builder;
    for (const Listed& record : records) {
      const PackedFilter packed{.name = record.name, .filter_id = record.id, .header = {}, .body = {}};
      ASSERT_TRUE(Ok(builder.Add(packed, *Filter()->Capture())));
    }
    const core::Result<FileSeal> seal = builder.Write(disk_, Path(manifest_.next_file_id));
    ASSERT_TRUE(Ok(seal));
    manifest_.packs.push_back({manifest_.next_file_id++, *seal, std::vector<bool>(records.size(), true)});
  }
  void AddFile(const Listed& listed) {
    ChunkBuffer buffer;
    const core::Result<FileSeal> seal = WriteFilterFile(disk_, Path(manifest_.next_file_id), listed.name,
                                                        *Filter()->Capture(), kDefaultChunkBytes, buffer);
    ASSERT_TRUE(Ok(seal));
    manifest_.filters.push_back(
        {.name = listed.name, .file_id = manifest_.next_file_id++, .seal = *seal, .filter_id = listed.id});
  }
  // Expects that a start is refused for this reason, and that these names are served without what is damaged.
  void ExpectDamage(const std::string& reason, const std::vector<std::string>& names) {
    ChunkBuffer buffer;
    manifest_.next_filter_id = kNextId;
    ASSERT_TRUE(Ok(WriteManifest(disk_, "/d/MANIFEST", manifest_, buffer)));
    TestServer refused;
    const core::Status status = refused.Start(disk_, "/d");
    ASSERT_FALSE(status.has_value());
    EXPECT_THAT(status.error().message, HasSubstr(reason));
    EXPECT_EQ(refused.keyspace.registry.Size(), 0u);
    refused.Stop();
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine)));
    EXPECT_THAT(server.report.quarantined, SizeIs(1));
    EXPECT_THAT(server.contents(), SizeIs(names.size()));
    for (const std::string& name : names) EXPECT_NE(server.keyspace.registry.Find(name), nullptr) << name;
  }

 private:
  static std::string Path(uint64_t id) { return "/d/filters/" + std::to_string(id) + ".filter"; }
  FilterPtr Filter() {
    const FilterPtr filter = keyspace_.Make("filter" + std::to_string(made_++));
    AddItem(*filter, "x");
    return filter;
  }

  MemoryDisk disk_;
  TestKeyspace keyspace_;
  Manifest manifest_;
  int made_ = 0;
};

TEST_F(PackRecoveryTest, ANameTwiceInOnePack) {
  AddPack({{"a", 1}, {"b", 2}, {"a", 3}});
  ExpectDamage("record 2: its name is in the snapshot twice (filter 'a')", {"a", "b"});
}

TEST_F(PackRecoveryTest, ANameInTwoPacks) {
  AddPack({{"a", 1}, {"b", 2}});
  AddPack({{"c", 3}, {"a", 4}});
  ExpectDamage("its name is in the snapshot twice", {"a", "b", "c"});
}

TEST_F(PackRecoveryTest, ANameInAPackAndInAFile) {
  AddFile({"a", 1});
  AddPack({{"b", 2}, {"a", 3}});
  ExpectDamage("record 1: its name is in the snapshot twice", {"a", "b"});
}

TEST_F(PackRecoveryTest, AnIdTwiceInOnePack) {
  AddPack({{"a", 1}, {"b", 2}, {"c", 1}});
  ExpectDamage("record 2: filter 1 is in the snapshot twice", {"a", "b"});
}

TEST_F(PackRecoveryTest, AnIdInTwoPacks) {
  AddPack({{"a", 1}, {"b", 2}});
  AddPack({{"c", 3}, {"d", 2}});
  ExpectDamage("record 1: filter 2 is in the snapshot twice", {"a", "b", "c"});
}

TEST_F(PackRecoveryTest, AnIdInAPackAndInAFile) {
  AddFile({"a", 1});
  AddPack({{"b", 1}, {"c", 3}});
  ExpectDamage("record 0: filter 1 is in the snapshot twice", {"a", "c"});
}

TEST_F(PackRecoveryTest, AnIdThatWasNeverGiven) {
  AddPack({{"a", kNextId}, {"b", 2}});
  ExpectDamage("record 0: filter 100 has an id that the manifest never gave", {"b"});
}

}  // namespace
}  // namespace bitsieve::server
