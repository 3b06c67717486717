#include "server/persistence/log/active_segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <semaphore>
#include <thread>

#include "tests/support/fault_disk.h"
#include "tests/support/gate.h"
#include "tests/support/log_fixture.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct ActiveSegmentTest : testing::Test {
  ~ActiveSegmentTest() override { gate.Open(); }

  // Appends and writes a record.
  void Write(const std::string& name) {
    appended.Append(log::Unnamed{name});
    pending.Take(appended);
    ASSERT_TRUE(Ok(segment.WritePending()));
  }
  uint64_t BeginSegment() {
    const uint64_t start = appended.BeginSegment();
    pending.Take(appended);
    return start;
  }
  // Waits for the job that is under way.
  core::Status EndJob() {
    job_ends.acquire();
    return segment.ContinueJobs();
  }
  static std::vector<std::string> Read(const Disk& disk, uint64_t from = 0) {
    std::vector<std::string> names;
    const auto files = ListLog(disk, kLogDirectory);
    if (!files) return names;
    EXPECT_TRUE(Ok(ReadLog(disk, *files, from, [&](uint64_t, const log::Record& record) -> core::Status {
      names.push_back(std::get<log::Unnamed>(record).name);
      return {};
    })));
    return names;
  }
  std::vector<std::string> AfterPowerLoss(uint64_t from = 0) const {
    MemoryDisk copy = memory.Copy();
    copy.LosePower(MemoryDisk::UnsyncedNames::kLost);
    return Read(copy, from);
  }
  std::vector<uint64_t> Segments() const {
    std::vector<uint64_t> starts;
    const std::vector<LogFile> files = ListLog(memory, kLogDirectory).value();
    for (const LogFile& file : files) starts.push_back(file.start);
    return starts;
  }

  Gate gate;
  MemoryDisk memory;
  FaultDisk disk{memory};
  std::unique_ptr<DataDirectory> directory = DataDirectory::Open(disk, "/d").value();
  AppendedRecords appended{core::SystemClock(), 0, [] {}};
  PendingRecords pending{0};
  std::counting_semaphore<> job_ends{0};
  ActiveSegment segment{*directory, pending, [this] { job_ends.release(); }};
};

TEST_F(ActiveSegmentTest, WhatIsWrittenStaysPendingUntilItIsSynced) {
  Write("a");
  EXPECT_EQ(segment.written(), appended.end());
  EXPECT_EQ(segment.synced(), 0u);
  EXPECT_EQ(pending.begin(), 0u);
  EXPECT_THAT(Read(memory), ElementsAre("a"));
  EXPECT_THAT(AfterPowerLoss(), IsEmpty());

  ASSERT_TRUE(Ok(segment.Sync()));
  EXPECT_EQ(segment.synced(), appended.end());
  EXPECT_EQ(pending.begin(), appended.end());
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a"));
}

TEST_F(ActiveSegmentTest, ASyncThatRunsConcurrentlyMakesDurableWhatWasWrittenBeforeIt) {
  disk.SetHook([this](const std::string& step) { gate.Pass(step); });
  Write("a");
  const uint64_t after_a = appended.end();
  gate.Close("sync");
  ASSERT_TRUE(Ok(segment.BeginSync()));
  gate.AwaitStop();
  Write("b");
  EXPECT_TRUE(segment.HasJob());
  ASSERT_TRUE(Ok(segment.ContinueJobs()));
  EXPECT_EQ(segment.synced(), 0u);
  gate.Open();
  ASSERT_TRUE(Ok(EndJob()));
  EXPECT_FALSE(segment.HasJob());
  EXPECT_EQ(segment.synced(), after_a);
  EXPECT_EQ(pending.begin(), after_a);
}

TEST_F(ActiveSegmentTest, WhatIsWrittenWhileASegmentIsMadeIsInBoth) {
  disk.SetHook([this](const std::string& step) { gate.Pass(step); });
  Write("a");
  gate.Close("create");
  const uint64_t start = BeginSegment();
  Write("b");
  ASSERT_TRUE(Ok(segment.ContinueJobs()));
  gate.AwaitStop();
  Write("c");
  EXPECT_THAT(Segments(), ElementsAre(0));
  EXPECT_THAT(Read(memory.Copy()), ElementsAre("a", "b", "c")) << "as after a kill";
  gate.Open();
  ASSERT_TRUE(Ok(EndJob()));
  EXPECT_THAT(Segments(), ElementsAre(0, start));
  EXPECT_THAT(Read(memory.Copy()), ElementsAre("a", "b", "c"));
  ASSERT_TRUE(Ok(EndJob()));
  EXPECT_THAT(AfterPowerLoss(start), ElementsAre("b", "c"));
}

TEST_F(ActiveSegmentTest, IsDurableFromItsStartOnceItsNameIs) {
  disk.SetHook([this](const std::string& step) { gate.Pass(step); });
  EXPECT_FALSE(segment.IsDurableFrom(0));
  Write("a");
  EXPECT_TRUE(segment.IsDurableFrom(0));
  const uint64_t start = BeginSegment();
  EXPECT_FALSE(segment.IsDurableFrom(start));
  gate.Close("sync directory");
  ASSERT_TRUE(Ok(segment.ContinueJobs()));
  ASSERT_TRUE(Ok(EndJob()));
  gate.AwaitStop();
  EXPECT_FALSE(segment.IsDurableFrom(start));
  gate.Open();
  ASSERT_TRUE(Ok(EndJob()));
  EXPECT_TRUE(segment.IsDurableFrom(start));
  EXPECT_FALSE(segment.IsDurableFrom(start + 1));
}

TEST_F(ActiveSegmentTest, ASyncOfAllBeginsEverySegmentFirst) {
  Write("a");
  const uint64_t first = BeginSegment();
  BeginSegment();
  Write("b");
  const uint64_t second = BeginSegment();
  Write("c");
  ASSERT_TRUE(Ok(segment.Sync()));
  EXPECT_THAT(Segments(), ElementsAre(0, first, second));
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a", "b", "c"));
}

TEST_F(ActiveSegmentTest, WhatIsDroppedUnsyncedEndsWhereASegmentIsToBegin) {
  Write("a");
  const uint64_t start = BeginSegment();
  Write("b");
  segment.DropWritten();
  EXPECT_EQ(pending.begin(), start);
  EXPECT_EQ(segment.synced(), 0u);
}

// ---- errors

TEST_F(ActiveSegmentTest, OnceAbandonedWhatIsNotDurableIsWrittenToANewSegment) {
  Write("a");
  ASSERT_TRUE(Ok(segment.Sync()));
  const uint64_t durable = appended.end();
  Write("b");
  disk.SetFault({1, Fault::Kind::kShortWrite, "Input/output error"});
  appended.Append(log::Unnamed{"c"});
  pending.Take(appended);
  EXPECT_FALSE(segment.WritePending());
  segment.Abandon();
  EXPECT_EQ(segment.written(), durable);
  EXPECT_FALSE(segment.IsDurableFrom(0));
  ASSERT_TRUE(Ok(segment.WritePending()));
  EXPECT_THAT(Segments(), ElementsAre(0, durable));
  EXPECT_THAT(Read(memory), ElementsAre("a", "b", "c"));
}

TEST_F(ActiveSegmentTest, TheJobUnderWayWhenItIsAbandonedStillCounts) {
  Write("a");
  const uint64_t after_a = appended.end();
  ASSERT_TRUE(Ok(segment.BeginSync()));
  segment.Abandon();
  EXPECT_FALSE(segment.HasJob());
  EXPECT_EQ(segment.synced(), after_a);
  EXPECT_EQ(segment.written(), after_a);
  EXPECT_EQ(pending.begin(), after_a);
}

TEST_F(ActiveSegmentTest, WhatIsDroppedUnsyncedIsSyncedThoughNothingIsLeftToWrite) {
  Write("a");
  segment.DropWritten();
  segment.Abandon();
  ASSERT_TRUE(Ok(segment.WritePending()));
  EXPECT_EQ(segment.synced(), appended.end());
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a"));
}

TEST_F(ActiveSegmentTest, AJobsErrorIsReportedWhenItEnds) {
  Write("a");
  disk.SetFault({1, Fault::Kind::kFail, "Input/output error"});
  ASSERT_TRUE(Ok(segment.BeginSync()));
  EXPECT_FALSE(EndJob());
  segment.Abandon();
  EXPECT_EQ(segment.written(), 0u);
  ASSERT_TRUE(Ok(segment.WritePending()));
  ASSERT_TRUE(Ok(segment.Sync()));
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a"));
}

TEST_F(ActiveSegmentTest, TheLongestSyncIsReportedOnce) {
  disk.SetHook([](const std::string& step) {
    if (step.starts_with("sync")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  Write("a");
  ASSERT_TRUE(Ok(segment.Sync()));
  EXPECT_GE(segment.TakeLongestSyncMs(), 10u);
  EXPECT_EQ(segment.TakeLongestSyncMs(), 0u);
}

}  // namespace
}  // namespace bitsieve::server
