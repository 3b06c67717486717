#include "server/persistence/snapshot/snapshot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/families/bloom/bloom_types.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
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
  // What a start would load now.
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
  EXPECT_EQ(restarted.writer->CountChanges(), 0u);
  EXPECT_EQ(restarted.writer->Save()->filters_written, 0u);
  AddItem(*restarted.keyspace.registry.Find("b"), "y");
  EXPECT_EQ(restarted.writer->Save()->filters_written, 1u);
  EXPECT_THAT(FilterFiles(), ElementsAre("1.filter", "3.filter"));
}

TEST_F(SnapshotWriterTest, CountsChangesOfNamesAndContents) {
  EXPECT_EQ(server_.writer->ChangesAtMost(), 0u);
  EXPECT_EQ(server_.writer->CountChanges(), 0u);
  const FilterPtr a = server_.keyspace.Make("a");
  EXPECT_EQ(server_.writer->ChangesAtMost(), 1u);
  EXPECT_EQ(server_.writer->CountChanges(), 1u);
  AddItems(*a, "x", 5);
  EXPECT_EQ(server_.writer->ChangesAtMost(), 6u);
  EXPECT_EQ(server_.writer->CountChanges(), 6u);
  Save();
  EXPECT_EQ(server_.writer->ChangesAtMost(), 0u);
  EXPECT_EQ(server_.writer->CountChanges(), 0u);
  AddItem(*a, "y");
  EXPECT_EQ(server_.writer->ChangesAtMost(), 1u);
  EXPECT_EQ(server_.writer->CountChanges(), 1u);
  Save();
  registry().Remove("a");
  EXPECT_EQ(server_.writer->ChangesAtMost(), 1u);
  EXPECT_EQ(server_.writer->CountChanges(), 1u);
}

// What changed while a snapshot was made, and is in it, is not counted for ever.
TEST_F(SnapshotWriterTest, RunningCountersSettleAfterASnapshot) {
  std::vector<FilterPtr> filters;
  for (int i = 0; i < 50; ++i) filters.push_back(server_.keyspace.Make("f" + std::to_string(i)));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) AddItem(*filters[static_cast<size_t>(i) % filters.size()], std::to_string(i));
  });
  for (int i = 0; i < 20; ++i) Save();
  stop = true;
  writer.join();
  EXPECT_GE(server_.writer->ChangesAtMost(), server_.writer->CountChanges());
  EXPECT_EQ(server_.writer->ChangesAtMost(), server_.writer->CountChanges()) << "counted just now";
  Save();
  EXPECT_EQ(server_.writer->ChangesAtMost(), 0u);
}

TEST_F(SnapshotWriterTest, AnExpiryAloneIsSaved) {
  AddItem(*server_.keyspace.Make("a"), "x");
  Save();
  const int64_t end = server_.keyspace.clock.now_ms + 1000;
  EXPECT_TRUE(registry().SetExpiry("a", end, 0));
  EXPECT_EQ(server_.writer->CountChanges(), 1u);
  EXPECT_EQ(Save().filters_written, 0u);
  EXPECT_EQ(server_.writer->CountChanges(), 0u);
  EXPECT_EQ(Recovered(), server_.contents());
}

TEST_F(SnapshotWriterTest, WhatExpiredLeavesTheDisk) {
  server_.keyspace.Make("a");
  registry().SetExpiry("a", server_.keyspace.clock.now_ms + 1000, 0);
  Save();
  server_.keyspace.clock.now_ms += 1000;
  registry().RemoveExpired();
  EXPECT_GT(server_.writer->CountChanges(), 0u);
  EXPECT_EQ(Save().filters, 0u);
  EXPECT_THAT(FilterFiles(), IsEmpty());
}

TEST_F(SnapshotWriterTest, ALargeFilterNeedsOneChunkOfMemory) {
  AddItems(*server_.keyspace.Make("big", 1000000, core::kClassicType), "x", 1000);
  const uint64_t bytes = Save().bytes_written;
  EXPECT_GT(bytes, kDefaultChunkBytes);
  EXPECT_EQ(Recovered(), server_.contents());
}

// What was acknowledged before a save began is in it, whatever is added, made and removed during the save.
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

}  // namespace
}  // namespace bitsieve::server
