#include "server/persistence/log/log_removal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "tests/support/fault_disk.h"
#include "tests/support/gate.h"
#include "tests/support/log_fixture.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;

// Segments begin at 0, 1000 and 2000; each has a record that refers to a filter file.
struct LogRemovalTest : testing::Test {
  LogRemovalTest() {
    directory = DataDirectory::Open(disk, "/d").value();
    (void)log.disk.CreateDirectory(kLogDirectory);
    for (const uint64_t start : {0, 1000, 2000}) log.Begin(start);
    for (const uint64_t file_id : {1, 2, 3}) log.disk.Put(directory->FilterPath(file_id), "content");
    removal.emplace(*directory, appended, 0, [this] { ++ends; });
  }
  void Remove(uint64_t position) {
    ASSERT_TRUE(removal->CanBegin(position));
    removal->Begin(position);
    removal->Wait();
  }
  std::vector<uint64_t> Segments() const {
    std::vector<uint64_t> starts;
    for (const LogFile& file : log.Files()) starts.push_back(file.start);
    return starts;
  }
  std::vector<std::string> FilterFiles() const { return log.disk.List("/d/filters").value(); }

  TestLog log;
  FaultDisk disk{log.disk};
  std::unique_ptr<DataDirectory> directory;
  AppendedRecords appended{core::SystemClock(), 3000, [] {}, {{100, 1}, {1000, 2}, {2000, 3}}};
  std::atomic<int> ends = 0;
  std::optional<LogRemoval> removal;
};

TEST_F(LogRemovalTest, TakesSegmentsAndFilesBeforeAPosition) {
  EXPECT_FALSE(removal->CanBegin(0));
  Remove(1000);
  EXPECT_THAT(Segments(), ElementsAre(1000, 2000));
  EXPECT_THAT(FilterFiles(), ElementsAre("2.filter", "3.filter"));
  EXPECT_EQ(removal->first_kept(), 1000u);
  EXPECT_EQ(ends, 1);
  EXPECT_FALSE(removal->CanBegin(1000));
  Remove(2000);
  EXPECT_THAT(Segments(), ElementsAre(2000));
  EXPECT_THAT(FilterFiles(), ElementsAre("3.filter"));
}

TEST_F(LogRemovalTest, OnlyOneIsUnderWayAtATime) {
  Gate gate;
  disk.SetHook([&](const std::string& step) { gate.Pass(step); });
  gate.Close("remove");
  removal->Begin(1000);
  gate.AwaitStop();
  EXPECT_FALSE(removal->CanBegin(2000));
  gate.Open();
  removal->Wait();
  EXPECT_TRUE(removal->CanBegin(2000));
}

TEST_F(LogRemovalTest, WhatTheDiskRefusesToRemoveIsRemovedTheNextTime) {
  disk.SetFault({1, Fault::Kind::kFailFromOn, "Input/output error"});
  Remove(1000);
  EXPECT_THAT(Segments(), ElementsAre(0, 1000, 2000));
  EXPECT_THAT(FilterFiles(), ElementsAre("1.filter", "2.filter", "3.filter"));
  disk.SetFault({});
  Remove(2000);
  EXPECT_THAT(Segments(), ElementsAre(2000));
  EXPECT_THAT(FilterFiles(), ElementsAre("3.filter"));
}

TEST_F(LogRemovalTest, WithoutMemoryItIsToBeBegunAgain) {
  disk.SetHook([](const std::string& step) {
    if (step.ends_with(".filter")) throw std::bad_alloc();
  });
  Remove(1000);
  EXPECT_EQ(ends, 0);
  EXPECT_EQ(removal->first_kept(), 0u);
  disk.SetHook({});
  Remove(1000);
  EXPECT_EQ(ends, 1);
  EXPECT_THAT(FilterFiles(), ElementsAre("2.filter", "3.filter"));
}

}  // namespace
}  // namespace bitsieve::server
