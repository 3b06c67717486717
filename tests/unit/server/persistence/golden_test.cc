// The bytes of each format's versions, frozen. If a test here fails, this server writes other bytes than released ones
// do, or no longer reads theirs: people's data. Do not make new golden files to get it green. If the format has to
// change, give it a new version number, keep reading the old one, and put the new files beside the old, in a folder of
// their own. (To make the first files of a new version: run this test with BITSIEVE_WRITE_GOLDEN=1.)
#include <gtest/gtest.h>

#include <cctype>
#include <cstring>
#include <string>

#include "core/families/bloom/bloom_types.h"
#include "server/persistence/disk/filter_file.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/disk/pack.h"
#include "server/persistence/log/log_segment.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/unit/server/persistence/golden_files.h"

namespace bitsieve::server {

using namespace commands;

namespace {

constexpr uint64_t kLogPosition = 4660;

// "/d/MANIFEST" of "v1/MANIFEST".
std::string OnDisk(const std::string& golden) { return "/d" + golden.substr(golden.find('/')); }

// A filter of an earlier snapshot: how a new filter is made may change from one release to the next, but one that
// is there is written as it was.
FilterPtr ReadGolden(TestKeyspace& keyspace, uint64_t file_id) {
  MemoryDisk disk;
  const std::string path = "/" + DataDirectory::FilterFileName(file_id);
  const std::string bytes = ReadText(GoldenPath("v1/filters" + path));
  disk.Put(path, bytes);
  FileSeal seal{.bytes = bytes.size()};
  std::memcpy(&seal.checksum, bytes.data() + bytes.size() - sizeof seal.checksum, sizeof seal.checksum);
  ChunkBuffer buffer;
  auto filter = ReadFilterFile(disk, path, seal, keyspace.memory, core::SystemClock(), buffer);
  EXPECT_TRUE(filter.has_value()) << kBroken;
  return FilterPtr(std::move(*filter));
}

// The pack of the worked example in docs/formats/pack.md: the second record is no longer part of the snapshot.
ManifestPack MakePack(MemoryDisk& disk, const core::Filter& fruit) {
  PackBuilder pack;
  const auto add = [&](std::string_view name, int64_t expires_unix_ms, uint64_t id) {
    const PackedFilter packed{.name = name,
                              .expires_unix_ms = expires_unix_ms,
                              .filter_id = id,
                              .sequence = 3,
                              .freezing = false,
                              .header = {},
                              .body = {}};
    EXPECT_TRUE(pack.Add(packed, *fruit.Capture()).has_value());
  };
  add("fruit", 1893456000000, 2);
  add("gone", 0, 3);
  return {.file_id = 9, .seal = pack.Write(disk, "/d/filters/9.filter").value(), .live = {true, false}};
}

// The snapshot of the worked example in docs/formats/snapshot.md, with a chain of two sub-filters of the other type.
// The file 4 is one as servers before packs wrote it.
void MakeSnapshot(MemoryDisk& disk, TestKeyspace& keyspace) {
  const FilterPtr fruit = ReadGolden(keyspace, 4);
  const FilterPtr chain = ReadGolden(keyspace, 7);
  ChunkBuffer buffer;
  Manifest manifest;
  manifest.snapshot_number = 3;
  manifest.saved_unix_ms = 1700000000123;
  manifest.next_file_id = 10;
  manifest.next_filter_id = 6;
  manifest.log_position = kLogPosition;
  manifest.has_log = true;
  ASSERT_TRUE(disk.CreateDirectory("/d/filters").has_value());
  const std::string name("chain\0\xff", 7);
  const FileSeal seal = WriteFilterFile(disk, "/d/filters/7.filter", name, *chain->Capture(), 64, buffer).value();
  manifest.filters.push_back({name, 7, seal, 0, 5, 25, false, kLogPosition});
  ASSERT_TRUE(WriteFilterFile(disk, "/d/filters/4.filter", "fruit", *fruit->Capture(), kDefaultChunkBytes, buffer));
  manifest.packs.push_back(MakePack(disk, *ReadGolden(keyspace, 4)));
  ASSERT_TRUE(disk.CreateDirectory("/d").has_value());
  ASSERT_TRUE(WriteManifest(disk, "/d/MANIFEST", manifest, buffer).has_value());
}

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, TheSameBytesAreWritten) {
  MemoryDisk disk;
  TestKeyspace keyspace;
  MakeSnapshot(disk, keyspace);
  ExpectGolden(disk.Get(OnDisk(GetParam())), GetParam());
}

class GoldenExampleTest : public testing::TestWithParam<const char*> {};

TEST(GoldenCurrent, TheDocumentShowsTheseBytes) { ExpectDocumented("v1/log/CURRENT", "log.md"); }

TEST(GoldenPack, TheDocumentShowsTheseBytes) { ExpectDocumented("v1/filters/9.filter", "pack.md"); }

TEST_P(GoldenExampleTest, TheDocumentShowsTheseBytes) { ExpectDocumented(GetParam(), "snapshot.md"); }

std::string LettersOf(const testing::TestParamInfo<const char*>& tested) {
  std::string name = tested.param;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Newest, GoldenTest,
                         testing::Values("v1/MANIFEST", "v1/filters/9.filter", "v1/filters/4.filter",
                                         "v1/filters/7.filter"),
                         LettersOf);
INSTANTIATE_TEST_SUITE_P(Newest, GoldenExampleTest, testing::Values("v1/MANIFEST", "v1/filters/4.filter"), LettersOf);

// An empty segment where the snapshot ends, and the CURRENT of a released server, which names it.
void PutLog(MemoryDisk& disk) {
  ASSERT_TRUE(disk.CreateDirectory("/d/log").has_value());
  ASSERT_TRUE(LogSegmentWriter::Create(disk, "/d/log", kLogPosition).has_value());
  ExpectGolden(disk.Get("/d/log/CURRENT"), "v1/log/CURRENT");
  disk.Put("/d/log/CURRENT", ReadText(GoldenPath("v1/log/CURRENT")));
}

class GoldenManifestTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenManifestTest, ReleasedSnapshotsAreRead) {
  MemoryDisk disk;
  for (const char* name : {GetParam(), "v1/filters/4.filter", "v1/filters/7.filter", "v1/filters/9.filter"}) {
    disk.Put(OnDisk(name), ReadText(GoldenPath(name)));
  }
  PutLog(disk);
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk, "/d"))) << kBroken;
  const FilterPtr fruit = server.keyspace.registry.Find("fruit");
  ASSERT_NE(fruit, nullptr) << kBroken;
  EXPECT_EQ(fruit->ItemCount(), 3u);
  EXPECT_EQ(server.keyspace.registry.ExpiryOf("fruit"), 1893456000000);
  for (const char* item : {"apple", "pear", "plum"}) EXPECT_TRUE(HasItem(*fruit, item)) << kBroken;
  EXPECT_FALSE(HasItem(*fruit, "stone"));
  const FilterPtr chain = server.keyspace.registry.Find(std::string("chain\0\xff", 7));
  ASSERT_NE(chain, nullptr) << kBroken;
  EXPECT_EQ(chain->Info().sub_filters, 2u);
  EXPECT_EQ(server.keyspace.registry.ExpiryOf(std::string("chain\0\xff", 7)), 0);
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(HasItem(*chain, "item" + std::to_string(i))) << kBroken;
  EXPECT_NE(fruit->id(), 0u) << "the log goes on from the first versions, too";
  EXPECT_NE(fruit->id(), chain->id());
}

INSTANTIATE_TEST_SUITE_P(EachVersion, GoldenManifestTest, testing::Values("v1/MANIFEST"), LettersOf);

}  // namespace
}  // namespace bitsieve::server
