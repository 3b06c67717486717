#include "server/persistence/recovery/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "server/persistence/disk/filter_file.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Three filters of a few chunks each, saved as files 1 to 3.
class RecoveryTest : public testing::Test {
 protected:
  void SetUp() override {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d", {.chunk_bytes = 64})));
    AddItems(*server.keyspace.Make("first", 20), "x", 15);
    AddItems(*server.keyspace.Make("second", 20, core::kClassicType), "y", 60);
    AddItems(*server.keyspace.Make("third", 20), "z", 5);
    server.keyspace.registry.SetExpiry("third", server.keyspace.clock.now_ms + kThirdLivesMs, 0);
    ASSERT_TRUE(Ok(server.writer->Save()));
    contents_ = server.contents();
    files_ = disk_.All();
  }

  void Damage(const std::string& path, size_t offset) {
    std::string bytes = disk_.Get(path);
    bytes.at(offset) ^= 0x20;
    disk_.Put(path, bytes);
  }
  core::Error StartError(OnCorruptFilter on_corrupt = OnCorruptFilter::kRefuse) {
    TestServer server;
    const core::Status status = server.Start(disk_, "/d", on_corrupt);
    EXPECT_FALSE(status.has_value());
    return status ? core::Error{} : status.error();
  }
  Contents Without(const std::string& name) const {
    Contents contents = contents_;
    contents.erase(name);
    return contents;
  }

  static constexpr int64_t kThirdLivesMs = 60'000;

  MemoryDisk disk_;
  Contents contents_;
  std::map<std::string, std::string> files_;
};

TEST_F(RecoveryTest, LoadsEverythingAndReports) {
  for (const unsigned threads : {1, 2, 8}) {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d", {.chunk_bytes = 64, .threads = threads})));
    EXPECT_EQ(server.contents(), contents_);
    EXPECT_EQ(server.report.filters_loaded, 3u);
    EXPECT_EQ(server.report.bytes_read, disk_.Get("/d/filters/1.filter").size() +
                                            disk_.Get("/d/filters/2.filter").size() +
                                            disk_.Get("/d/filters/3.filter").size());
    EXPECT_GT(server.report.snapshot_unix_ms, 1600000000000);
    EXPECT_EQ(server.report.leftovers_removed, 0u);
    EXPECT_THAT(server.report.quarantined, IsEmpty());
  }
  EXPECT_EQ(disk_.All(), files_) << "a start changes nothing";
}

// By all threads, the most of which have no filter of their own.
TEST_F(RecoveryTest, LoadsLargeFiltersByManyThreads) {
  MemoryDisk disk;
  Contents saved;
  {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk, "/d", {.chunk_bytes = 4096})));
    AddItems(*server.keyspace.Make("blocked", 2'000'000), "x", 3000);
    AddItems(*server.keyspace.Make("cuckoo", 1'000'000, core::kCuckooType), "y", 3000);
    ASSERT_TRUE(Ok(server.writer->Save()));
    saved = server.contents();
  }
  for (const unsigned threads : {1, 8}) {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk, "/d", {.threads = threads})));
    EXPECT_TRUE(server.contents() == saved) << "megabytes, that nobody wants to see";
  }
}

TEST_F(RecoveryTest, AnEmptyDirectoryIsAnEmptyStart) {
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk_, "/new")));
  EXPECT_THAT(server.contents(), IsEmpty());
  EXPECT_EQ(server.report.filters_loaded, 0u);
  EXPECT_EQ(server.report.snapshot_unix_ms, 0);
}

TEST_F(RecoveryTest, AChangeOfAnyByteOfAnyFileIsRefusedByName) {
  for (const auto& [path, whole] : files_) {
    for (size_t offset = 0; offset < whole.size(); ++offset) {
      Damage(path, offset);
      const core::Error error = StartError();
      ASSERT_EQ(error.code, core::ErrorCode::kCorrupt) << path << " at " << offset << ": " << error.message;
      ASSERT_THAT(error.message, HasSubstr(path + ": "));
      disk_.Put(path, whole);
    }
  }
  EXPECT_EQ(disk_.All(), files_) << "a refused start changes nothing";
}

TEST_F(RecoveryTest, AnyOtherLengthOfAnyFileIsRefusedByName) {
  for (const auto& [path, whole] : files_) {
    for (size_t bytes = 0; bytes <= whole.size() + 1; ++bytes) {
      if (bytes == whole.size()) continue;
      std::string damaged = whole;
      damaged.resize(bytes);
      disk_.Put(path, damaged);
      const core::Error error = StartError();
      ASSERT_EQ(error.code, core::ErrorCode::kCorrupt);
      ASSERT_THAT(error.message, HasSubstr(path + ": "));
    }
    disk_.Put(path, whole);
  }
}

TEST_F(RecoveryTest, AllDamageIsToldAtOnce) {
  Damage("/d/filters/1.filter", 50);
  ASSERT_TRUE(Ok(disk_.Remove("/d/filters/3.filter")));
  const std::string message = StartError().message;
  EXPECT_THAT(message, HasSubstr("/d: 2 filter files damaged or missing, of 3 filters in the snapshot"));
  EXPECT_THAT(message, HasSubstr("/d/filters/1.filter: at byte 32: the chunk of 64 bytes fails its checksum (filter "
                                 "'first')\n"));
  EXPECT_THAT(message, HasSubstr("/d/filters/3.filter: is missing, but the manifest lists it (filter 'third')\n"));
  EXPECT_THAT(message, Not(HasSubstr("'second'")));
  EXPECT_THAT(message, HasSubstr("on-corrupt-filter quarantine sets 2 filter files aside"));
}

TEST_F(RecoveryTest, ExchangedFilesAreRefused) {
  disk_.Put("/d/filters/1.filter", files_["/d/filters/3.filter"]);
  EXPECT_EQ(StartError().code, core::ErrorCode::kCorrupt);
}

TEST_F(RecoveryTest, QuarantineSetsTheDamagedAsideAndLoadsTheRest) {
  Damage("/d/filters/2.filter", 40);
  const std::string damaged = disk_.Get("/d/filters/2.filter");
  {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine)));
    EXPECT_EQ(server.contents(), Without("second"));
    ASSERT_EQ(server.report.quarantined.size(), 1u);
    EXPECT_EQ(server.report.quarantined[0].path, "/d/filters/2.filter");
    EXPECT_EQ(server.report.quarantined[0].moved_to, "/d/quarantine/2.filter");
    EXPECT_THAT(server.report.quarantined[0].reason, HasSubstr("fails its checksum (filter 'second')"));
    EXPECT_EQ(disk_.Get("/d/quarantine/2.filter"), damaged);
    EXPECT_EQ(server.writer->ChangesAtMost(), 0u);
  }
  TestServer again;
  ASSERT_TRUE(Ok(again.Start(disk_, "/d", OnCorruptFilter::kRefuse))) << "what was set aside is not missed";
  EXPECT_EQ(again.contents(), Without("second"));
  again.keyspace.Make("fourth");
  ASSERT_TRUE(Ok(again.writer->Save()));
  EXPECT_EQ(disk_.Get("/d/quarantine/2.filter"), damaged);
}

TEST_F(RecoveryTest, QuarantineOfAMissingFileDropsItsName) {
  ASSERT_TRUE(Ok(disk_.Remove("/d/filters/1.filter")));
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine)));
  EXPECT_EQ(server.contents(), Without("first"));
  ASSERT_EQ(server.report.quarantined.size(), 1u);
  EXPECT_EQ(server.report.quarantined[0].moved_to, "");
  EXPECT_THAT(server.report.quarantined[0].reason, HasSubstr("is missing"));
}

TEST_F(RecoveryTest, QuarantineKeepsEarlierFilesOfTheSameName) {
  for (int round = 0; round < 3; ++round) {
    disk_.Put("/d/MANIFEST", "damaged");
    disk_.Put("/d/filters/1.filter", std::to_string(round));
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine)));
  }
  EXPECT_EQ(disk_.Get("/d/quarantine/1.filter"), "0");
  EXPECT_EQ(disk_.Get("/d/quarantine/1.filter.1"), "1");
  EXPECT_EQ(disk_.Get("/d/quarantine/1.filter.2"), "2");
}

TEST_F(RecoveryTest, ADamagedManifestIsRefusedOrSetsAllAside) {
  Damage("/d/MANIFEST", 60);
  const core::Error error = StartError();
  EXPECT_THAT(error.message, HasSubstr("/d/MANIFEST: at byte 32: the chunk of"));
  EXPECT_THAT(
      error.message,
      HasSubstr("on-corrupt-filter quarantine sets the manifest and all 3 filter files aside and starts empty"));
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine)));
  EXPECT_THAT(server.contents(), IsEmpty());
  EXPECT_EQ(server.report.quarantined.size(), 4u);
  EXPECT_THAT(disk_.List("/d/quarantine").value(), ElementsAre("1.filter", "2.filter", "3.filter", "MANIFEST"));
  EXPECT_THAT(disk_.List("/d/filters").value(), IsEmpty());
  server.keyspace.Make("new");
  ASSERT_TRUE(Ok(server.writer->Save()));
  EXPECT_THAT(disk_.List("/d/filters").value(), ElementsAre("4.filter")) << "ids are not used twice";
}

TEST_F(RecoveryTest, FiltersWithoutAManifestAreNoEmptyStart) {
  ASSERT_TRUE(Ok(disk_.Remove("/d/MANIFEST")));
  EXPECT_THAT(StartError().message, HasSubstr("/d/MANIFEST: is missing, but /d/filters holds 3 filter files"));
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine)));
  EXPECT_EQ(server.report.quarantined.size(), 3u);
}

TEST_F(RecoveryTest, ANewerVersionIsRefusedUnderEitherPolicy) {
  ChunkBuffer buffer;
  for (const auto& [path, format] : std::vector<std::pair<std::string, FileFormat>>{
           {"/d/filters/2.filter", kFilterFileFormat}, {"/d/MANIFEST", kManifestFormat}}) {
    FileFormat newer = format;
    ++newer.version;
    auto writer = CheckedFileWriter::Create(disk_, path, newer, 3, kDefaultChunkBytes, buffer);
    ASSERT_TRUE(writer->Append("new").has_value());
    ASSERT_TRUE(writer->Finish().has_value());
    for (const OnCorruptFilter policy : {OnCorruptFilter::kRefuse, OnCorruptFilter::kQuarantine}) {
      const core::Error error = StartError(policy);
      EXPECT_EQ(error.code, core::ErrorCode::kUnsupported) << error.message;
      EXPECT_THAT(error.message, HasSubstr("this server reads up to version " + std::to_string(format.version)));
    }
    EXPECT_FALSE(disk_.List("/d/quarantine").has_value());
    disk_.Put(path, files_[path]);
  }
}

TEST_F(RecoveryTest, WhatHasExpiredIsNeitherReadNorKept) {
  Damage("/d/filters/3.filter", 100);  // an expired filter's file may as well be damaged
  for (const uint64_t expired : {1, 0}) {
    TestServer server;
    server.keyspace.clock.now_ms += kThirdLivesMs;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d")));
    EXPECT_EQ(server.contents(), Without("third"));
    EXPECT_EQ(server.report.filters_expired, expired);
    EXPECT_EQ(server.report.leftovers_removed, 0u);
    EXPECT_THAT(server.report.warnings, IsEmpty());
    EXPECT_EQ(server.writer->ChangesAtMost(), 0u);
    EXPECT_EQ(disk_.List("/d/filters").value().size(), 2u);
  }
}

TEST_F(RecoveryTest, ARefusedStartKeepsTheFilesOfWhatHasExpired) {
  Damage("/d/filters/1.filter", 100);
  const auto before = disk_.All();
  TestServer server;
  server.keyspace.clock.now_ms += kThirdLivesMs;
  EXPECT_FALSE(server.Start(disk_, "/d").has_value());
  EXPECT_EQ(disk_.All(), before);
}

TEST_F(RecoveryTest, LeftoversOfACrashAreRemovedAndOtherFilesLeftAlone) {
  disk_.Put("/d/MANIFEST.tmp", "half");
  disk_.Put("/d/filters/4.filter", "half");
  disk_.Put("/d/filters/17.filter", "");
  disk_.Put("/d/filters/notes.txt", "mine");
  disk_.Put("/d/readme", "mine");
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk_, "/d")));
  EXPECT_EQ(server.contents(), contents_);
  EXPECT_EQ(server.report.leftovers_removed, 3u);
  EXPECT_EQ(disk_.Get("/d/filters/notes.txt"), "mine");
  EXPECT_EQ(disk_.Get("/d/readme"), "mine");
  EXPECT_EQ(disk_.All().size(), files_.size() + 2);
}

TEST_F(RecoveryTest, TooLittleMemoryIsRefusedUnderEitherPolicy) {
  for (const OnCorruptFilter policy : {OnCorruptFilter::kRefuse, OnCorruptFilter::kQuarantine}) {
    TestServer server;
    server.keyspace.memory.set_limit_bytes(100);
    const core::Status status = server.Start(disk_, "/d", policy);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, core::ErrorCode::kOutOfMemory);
    EXPECT_THAT(status.error().message, HasSubstr("the filters need more memory than there is"));
    EXPECT_EQ(disk_.All(), files_);
  }
}

TEST_F(RecoveryTest, EveryLimitLoadsAllOrRefuses) {
  uint64_t needed;
  {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d")));
    needed = server.keyspace.memory.used_bytes();
  }
  for (uint64_t limit = 64; limit < needed + 4096; limit += 64) {
    TestServer server;
    server.keyspace.memory.set_limit_bytes(limit);
    const core::Status status = server.Start(disk_, "/d");
    if (status) {
      EXPECT_EQ(server.contents(), contents_);
    } else {
      EXPECT_EQ(status.error().code, core::ErrorCode::kOutOfMemory);
      EXPECT_LT(limit, needed + 2048);
    }
  }
}

TEST_F(RecoveryTest, NamesAreReadableInErrors) {
  {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d")));
    server.keyspace.Make(std::string("\n'\x01\xff", 4) + std::string(1000, 'n'));
    ASSERT_TRUE(Ok(server.writer->Save()));
  }
  ASSERT_TRUE(Ok(disk_.Remove("/d/filters/4.filter")));
  EXPECT_THAT(StartError().message, HasSubstr("(filter '\\x0a\\x27\\x01\\xff" + std::string(60, 'n') + "'...)"));
}

}  // namespace
}  // namespace bitsieve::server
