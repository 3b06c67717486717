#include "server/persistence/snapshot/snapshot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/families/bloom/bloom_types.h"
#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SnapshotWriterTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(Ok(server_.Start(disk_, "/d"))); }
  Registry& registry() { return server_.keyspace.registry; }
  SaveReport Save() {
    const auto report = server_.writer->Save();
    EXPECT_TRUE(Ok(report));
    return report.value_or(SaveReport{});
  }
  std::vector<std::string> FilterFiles() const { return disk_.List("/d/filters").value(); }
  // Returns the contents that a start would load now.
  Contents Recovered() {
    server_.directory.reset();
    TestServer other;
    EXPECT_TRUE(Ok(other.Start(disk_, "/d")));
    return other.contents();
  }

  MemoryDisk disk_;
  TestServer server_;
};

TEST_F(SnapshotWriterTest, ManyNamesComeBack) {
  for (const std::string& name :
       {std::string(), std::string("\0", 1), std::string("\r\n\xff\x80 '\\"), std::string(65536, 'n'),
        std::string("../../etc/passwd"), std::string("Gr\xc3\xbc\xc3\x9f")}) {
    AddItems(*server_.keyspace.Make(name), name, 10);
  }
  for (int i = 0; i < 200; ++i) AddItem(*server_.keyspace.Make("filter" + std::to_string(i)), std::to_string(i));
  EXPECT_EQ(Save().filters, 206u);
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(SnapshotWriterTest, NothingIsWrittenWithoutAChange) {
  AddItems(*server_.keyspace.Make("a"), "x", 10);
  EXPECT_EQ(Save().filters_written, 1u);
  const auto before = disk_.All();
  const SaveReport report = Save();
  EXPECT_EQ(report.filters, 1u);
  EXPECT_EQ(report.filters_written, 0u);
  EXPECT_EQ(disk_.All(), before);
}

TEST_F(SnapshotWriterTest, OnlyWhatChangedIsWritten) {
  const FilterPtr a = server_.keyspace.Make("a");
  const FilterPtr b = server_.keyspace.Make("b");
  EXPECT_EQ(Save().filters_written, 2u);
  EXPECT_THAT(FilterFiles(), ElementsAre("1.filter", "2.filter"));
  AddItem(*b, "x");
  EXPECT_EQ(Save().filters_written, 1u);
  EXPECT_THAT(FilterFiles(), ElementsAre("1.filter", "3.filter"));
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(SnapshotWriterTest, ARenameWritesNoFilter) {
  AddItem(*server_.keyspace.Make("old"), "x");
  Save();
  registry().Rename("old", "new", false);
  EXPECT_EQ(Save().filters_written, 0u);
  EXPECT_THAT(FilterFiles(), ElementsAre("1.filter"));
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(SnapshotWriterTest, WhatWasRemovedIsRemovedFromDisk) {
  server_.keyspace.Make("a");
  server_.keyspace.Make("b");
  Save();
  registry().Remove("a");
  EXPECT_EQ(Save().filters, 1u);
  EXPECT_THAT(FilterFiles(), ElementsAre("2.filter"));
  registry().Flush(false);
  Save();
  EXPECT_THAT(FilterFiles(), IsEmpty());
  EXPECT_THAT(Recovered(), IsEmpty());
}

TEST_F(SnapshotWriterTest, ANewFilterWhereAFreedOneWasIsWritten) {
  // Equal address and equal change count do not make it the same filter.
  for (int i = 0; i < 20; ++i) {
    AddItem(*server_.keyspace.Make("f"), std::to_string(i));
    EXPECT_EQ(Save().filters_written, 1u);
    registry().Remove("f");
  }
}

TEST_F(SnapshotWriterTest, WhatRecoveryLoadedIsNotWrittenAgain) {
  AddItems(*server_.keyspace.Make("a"), "x", 10);
  const FilterPtr b = server_.keyspace.Make("b");
  Save();
  server_.directory.reset();
  TestServer restarted;
  ASSERT_TRUE(Ok(restarted.Start(disk_, "/d")));
  EXPECT_EQ(restarted.writer->ChangesAtMost(), 0u);
  EXPECT_EQ(restarted.writer->Save()->filters_written, 0u);
  AddItem(*restarted.keyspace.registry.Find("b"), "y");
  EXPECT_EQ(restarted.writer->Save()->filters_written, 1u);
  EXPECT_THAT(FilterFiles(), ElementsAre("1.filter", "3.filter"));
}

TEST_F(SnapshotWriterTest, CountsChangesOfNamesAndContents) {
  EXPECT_EQ(server_.writer->ChangesAtMost(), 0u);
  const FilterPtr a = server_.keyspace.Make("a");
  EXPECT_EQ(server_.writer->ChangesAtMost(), 1u);
  AddItems(*a, "x", 5);
  EXPECT_EQ(server_.writer->ChangesAtMost(), 6u);
  Save();
  EXPECT_EQ(server_.writer->ChangesAtMost(), 0u);
  AddItem(*a, "y");
  EXPECT_EQ(server_.writer->ChangesAtMost(), 1u);
  Save();
  registry().Remove("a");
  EXPECT_EQ(server_.writer->ChangesAtMost(), 1u);
}

TEST_F(SnapshotWriterTest, AnExpiryAloneIsSaved) {
  AddItem(*server_.keyspace.Make("a"), "x");
  Save();
  const int64_t end = server_.keyspace.clock.now_ms + 1000;
  EXPECT_TRUE(registry().SetExpiry("a", end, 0));
  EXPECT_EQ(server_.writer->ChangesAtMost(), 1u);
  EXPECT_EQ(Save().filters_written, 0u);
  EXPECT_EQ(server_.writer->ChangesAtMost(), 0u);
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(SnapshotWriterTest, WhatExpiredLeavesTheDisk) {
  server_.keyspace.Make("a");
  registry().SetExpiry("a", server_.keyspace.clock.now_ms + 1000, 0);
  Save();
  server_.keyspace.clock.now_ms += 1000;
  registry().RemoveExpired();
  EXPECT_GT(server_.writer->ChangesAtMost(), 0u);
  EXPECT_EQ(Save().filters, 0u);
  EXPECT_THAT(FilterFiles(), IsEmpty());
}

TEST_F(SnapshotWriterTest, ALargeFilterNeedsOneChunkOfMemory) {
  AddItems(*server_.keyspace.Make("big", 1000000, core::kClassicType), "x", 1000);
  const uint64_t bytes = Save().bytes_written;
  EXPECT_GT(bytes, kDefaultChunkBytes);
  EXPECT_EQ(Recovered(), server_.contents());
}

// Every change that was acknowledged before a save began is in it, even if filters are made, changed and removed during
// the save.
TEST_F(SnapshotWriterTest, NothingAcknowledgedBeforeASaveIsMissing) {
  constexpr int kAdders = 2;
  constexpr int kSaves = 15;
  constexpr int kItems = 200000;
  FilterPtr filters[kAdders];
  for (int i = 0; i < kAdders; ++i) filters[i] = server_.keyspace.Make("f" + std::to_string(i), 100);
  std::atomic<int> acknowledged[kAdders] = {};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kAdders; ++i) {
    threads.emplace_back([&, i] {
      for (int item = 0; item < kItems && !stop; ++item) {
        AddItem(*filters[i], std::to_string(item));
        acknowledged[i].store(item + 1);
      }
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; !stop; ++i) {
      server_.keyspace.Make("passing" + std::to_string(i), 10);
      if (i >= 5) registry().Remove("passing" + std::to_string(i - 5));
      std::this_thread::yield();
    }
  });
  int saved[kAdders] = {};
  for (int save = 0; save < kSaves; ++save) {
    for (int i = 0; i < kAdders; ++i) {
      const int some_more = std::min(saved[i] + 100, kItems);
      while ((saved[i] = acknowledged[i].load()) < some_more) std::this_thread::yield();
    }
    Save();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  server_.directory.reset();
  TestServer restarted;
  ASSERT_TRUE(Ok(restarted.Start(disk_, "/d")));
  for (int i = 0; i < kAdders; ++i) {
    const FilterPtr filter = restarted.keyspace.registry.Find("f" + std::to_string(i));
    ASSERT_NE(filter, nullptr);
    for (int item = 0; item < saved[i]; ++item) ASSERT_TRUE(HasItem(*filter, std::to_string(item))) << item;
  }
}

// ---- small filters share files

class PacksTest : public SnapshotWriterTest {
 protected:
  void SetUp() override { ASSERT_TRUE(Ok(server_.Start(faults_, "/d", kSettings))); }
  void TearDown() override { server_.Stop(); }
  Manifest ReadTheManifest() {
    ChunkBuffer buffer;
    return ReadManifest(disk_, "/d/MANIFEST", buffer).value();
  }
  size_t LiveRecords() {
    size_t live = 0;
    for (const ManifestPack& pack : ReadTheManifest().packs) {
      live += static_cast<size_t>(std::count(pack.live.begin(), pack.live.end(), true));
    }
    return live;
  }
  void MakeMany(int count) {
    for (int i = 0; i < count; ++i) AddItem(*server_.keyspace.Make("f" + std::to_string(i)), "x");
  }

  static constexpr TestServer::Settings kSettings{.max_packed_bytes = kMaxPackedBytes};
  FaultDisk faults_{disk_};
};

TEST_F(PacksTest, OneFileForAllThatAreSmall) {
  MakeMany(500);
  AddItems(*server_.keyspace.Make("large", 100'000), "x", 10);
  EXPECT_EQ(Save().filters_written, 501u);
  EXPECT_EQ(FilterFiles().size(), 2u);
  EXPECT_EQ(LiveRecords(), 500u);
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(PacksTest, OnlyWhatChangedIsWritten) {
  MakeMany(100);
  Save();
  EXPECT_EQ(Save().filters_written, 0u);
  AddItem(*registry().Find("f7"), "more");
  registry().SetExpiry("f8", server_.keyspace.clock.now_ms + 1000, 0);
  registry().Rename("f9", "renamed", false);
  registry().Remove("f10");
  EXPECT_EQ(Save().filters_written, 3u);
  EXPECT_EQ(FilterFiles().size(), 2u);
  EXPECT_EQ(LiveRecords(), 99u);
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(PacksTest, WhatRecoveryLoadedIsNotWrittenAgain) {
  MakeMany(100);
  Save();
  AddItem(*registry().Find("f7"), "more");
  Save();
  server_.directory.reset();
  TestServer restarted;
  ASSERT_TRUE(Ok(restarted.Start(disk_, "/d", kSettings)));
  EXPECT_EQ(restarted.writer->Save()->filters_written, 0u);
  AddItem(*restarted.keyspace.registry.Find("f7"), "yet more");
  EXPECT_EQ(restarted.writer->Save()->filters_written, 1u);
}

TEST_F(PacksTest, APackOfWhichHalfIsDeadIsWrittenAnew) {
  MakeMany(100);
  Save();
  for (int i = 0; i < 45; ++i) registry().Remove("f" + std::to_string(i));
  EXPECT_EQ(Save().filters_written, 0u);
  for (int i = 45; i < 55; ++i) registry().Remove("f" + std::to_string(i));
  EXPECT_EQ(Save().filters_written, 0u) << "how much is dead is known once it is over";
  EXPECT_EQ(Save().filters_written, 45u);
  EXPECT_EQ(FilterFiles().size(), 1u);
  EXPECT_EQ(Recovered(), server_.contents());
}

// Names remember records of a pack that no snapshot has.
TEST_F(PacksTest, WhatAFailedSaveWroteIsWrittenAgain) {
  MakeMany(100);
  Save();
  AddItem(*registry().Find("f7"), "more");
  faults_.SetFault({1, Fault::Kind::kFailFromOn, "No space left on device"});
  EXPECT_FALSE(server_.writer->Save().has_value());
  faults_.SetFault({});
  EXPECT_EQ(Save().filters_written, 1u);
  EXPECT_EQ(Save().filters_written, 0u);
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(PacksTest, ManySmallPacksBecomeOne) {
  size_t most = 0;
  for (int i = 0; i < 100; ++i) {
    AddItem(*server_.keyspace.Make("f" + std::to_string(i)), "x");
    Save();
    most = std::max(most, FilterFiles().size());
  }
  EXPECT_LT(most, 20u);
  EXPECT_EQ(LiveRecords(), 100u);
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(PacksTest, AFilterThatGrowsGetsAFileOfItsOwn) {
  const FilterPtr grows = server_.keyspace.Make("grows", 100);
  MakeMany(10);
  Save();
  EXPECT_EQ(LiveRecords(), 11u);
  AddItems(*grows, "x", 100'000);
  Save();
  EXPECT_EQ(LiveRecords(), 10u);
  EXPECT_EQ(ReadTheManifest().filters.size(), 1u);
  EXPECT_EQ(Recovered(), server_.contents());
}

// The files are those that servers from before packs wrote.
TEST_F(PacksTest, SmallFilesBecomeRecordsWithTheNextSave) {
  server_.Stop();
  TestServer old;
  ASSERT_TRUE(Ok(old.Start(disk_, "/d")));
  for (const char* name : {"a", "b"}) AddItem(*old.keyspace.Make(name), "x");
  ASSERT_TRUE(Ok(old.writer->Save()));
  EXPECT_EQ(FilterFiles().size(), 2u);
  old.Stop();
  TestServer restarted;
  ASSERT_TRUE(Ok(restarted.Start(disk_, "/d", kSettings)));
  EXPECT_EQ(restarted.contents(), old.contents());
  EXPECT_EQ(restarted.writer->Save()->filters_written, 2u);
  EXPECT_THAT(FilterFiles(), ElementsAre("3.filter"));
  restarted.Stop();
  EXPECT_EQ(Recovered(), old.contents());
}

}  // namespace
}  // namespace bitsieve::server
