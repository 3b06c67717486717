#include "server/persistence/log/log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <new>
#include <thread>

#include "server/persistence/log/log_reader.h"
#include "tests/support/fault_disk.h"
#include "tests/support/gate.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LogWriterTest : public testing::Test {
 protected:
  void SetUp() override { BeginAnew(); }
  void BeginAnew() {
    writer_.reset();
    directory_.reset();
    disk_.emplace(memory_.emplace());
    directory_ = DataDirectory::Open(*disk_, "/d").value();
  }

  void Begin(FsyncPolicy policy, uint64_t start = 0) {
    writer_.emplace(*directory_, core::SystemClock(), policy, start);
  }
  void Append(const std::string& name) { writer_->appended().Append(log::Unnamed{name}); }
  std::future<void> Await() {
    auto promise = std::make_shared<std::promise<void>>();
    writer_->Await(writer_->appended().end(), [promise] { promise->set_value(); });
    return promise->get_future();
  }
  static bool IsReady(const std::future<void>& future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  // The names of all records that a reader of this disk finds.
  static std::vector<std::string> Read(const Disk& disk, uint64_t from = 0) {
    std::vector<std::string> names;
    const auto files = ListLog(disk, "/d/log");
    if (!files) return names;
    const auto scan = ReadLog(disk, *files, from, [&](uint64_t, const log::Record& record) -> core::Status {
      names.push_back(std::get<log::Unnamed>(record).name);
      return {};
    });
    EXPECT_TRUE(Ok(scan));
    EXPECT_FALSE(scan->damage.has_value());
    return names;
  }
  std::vector<std::string> AfterPowerLoss(uint64_t from = 0) {
    MemoryDisk copy = memory_->Copy();
    copy.LosePower(MemoryDisk::UnsyncedNames::kLost);
    return Read(copy, from);
  }
  template <class Condition>
  static void AwaitThat(const Condition& condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::optional<MemoryDisk> memory_;
  std::optional<FaultDisk> disk_;
  std::unique_ptr<DataDirectory> directory_;
  std::optional<LogWriter> writer_;
};

TEST_F(LogWriterTest, WhatWasAwaitedSurvivesAPowerFailure) {
  Begin(FsyncPolicy::kAlways);
  for (const char* name : {"a", "b", "c"}) Append(name);
  EXPECT_EQ(writer_->AwaitedPosition(), writer_->appended().end());
  Await().wait();
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(writer_->Status().durable_position, writer_->appended().end());
}

TEST_F(LogWriterTest, WhatManyAppendIsSyncedTogether) {
  Begin(FsyncPolicy::kAlways);
  constexpr int kThreads = 8, kEach = 50;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kThreads; ++i) {
      clients.emplace_back([&] {
        for (int j = 0; j < kEach; ++j) {
          Append("x");
          std::promise<void> reached;
          writer_->Await(writer_->appended().end(), [&] { reached.set_value(); });
          reached.get_future().wait();
        }
      });
    }
  }
  EXPECT_THAT(Read(*memory_), SizeIs(kThreads * kEach));
}

TEST_F(LogWriterTest, EverySecondNobodyWaitsAndAllIsSyncedWithinASecond) {
  Begin(FsyncPolicy::kEverySecond);
  Append("a");
  EXPECT_EQ(writer_->AwaitedPosition(), 0u);
  AwaitThat([&] { return writer_->Status().durable_position == writer_->appended().end(); });
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a"));
}

TEST_F(LogWriterTest, WithoutSyncsAllIsWrittenAndWhatAStopLeavesIsDurable) {
  Begin(FsyncPolicy::kNever);
  Append("a");
  Await().wait();
  EXPECT_THAT(Read(*memory_), ElementsAre("a"));
  EXPECT_THAT(AfterPowerLoss(), IsEmpty());
  EXPECT_TRUE(Ok(writer_->Stop()));
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a"));
}

TEST_F(LogWriterTest, ThePolicyChangesWhileItRuns) {
  Begin(FsyncPolicy::kNever);
  Append("a");
  Await().wait();
  writer_->SetPolicy(FsyncPolicy::kAlways);
  Append("b");
  Await().wait();
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a", "b"));
}

TEST_F(LogWriterTest, APolicyThatSyncsSyncsWhatWasWrittenBefore) {
  Begin(FsyncPolicy::kNever);
  Append("a");
  Await().wait();
  EXPECT_EQ(writer_->synced_end(), 0u);
  writer_->SetPolicy(FsyncPolicy::kEverySecond);
  AwaitThat([&] { return writer_->synced_end() == writer_->appended().end(); });
  EXPECT_THAT(AfterPowerLoss(), ElementsAre("a"));
}

TEST_F(LogWriterTest, ASyncThatIsRequestedIsNotLeftToThePolicy) {
  for (const FsyncPolicy policy : {FsyncPolicy::kAlways, FsyncPolicy::kEverySecond, FsyncPolicy::kNever}) {
    BeginAnew();
    Begin(policy);
    Append("a");
    EXPECT_TRUE(Ok(writer_->SyncUpTo(writer_->appended().end())));
    EXPECT_THAT(AfterPowerLoss(), ElementsAre("a"));
    Append("b");
    writer_->appended().BeginSegment();
    Append("c");
    EXPECT_TRUE(Ok(writer_->SyncUpTo(writer_->appended().end())));
    EXPECT_THAT(AfterPowerLoss(), ElementsAre("a", "b", "c"));
  }
}

TEST_F(LogWriterTest, ASyncThatTheDiskRefusesIsNotWaitedFor) {
  Begin(FsyncPolicy::kNever);
  disk_->SetFault({1, Fault::Kind::kFailFromOn, "No space left on device"});
  Append("a");
  const core::Status status = writer_->SyncUpTo(writer_->appended().end());
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, HasSubstr("No space left on device"));
}

// The failed sync has closed the segment, and there is nothing left to write, since this policy awaits no sync.
TEST_F(LogWriterTest, ASyncIsRequestedAgainAfterOneThatTheDiskRefused) {
  for (const bool stops : {false, true}) {
    BeginAnew();
    Begin(FsyncPolicy::kNever);
    Append("a");
    AwaitThat([&] { return writer_->Status().durable_position == writer_->appended().end(); });
    disk_->SetFault({1, Fault::Kind::kFailFromOn, "No space left on device"});
    EXPECT_FALSE(writer_->SyncUpTo(writer_->appended().end()));
    disk_->SetFault({});
    if (!stops) {
      AwaitThat([&] { return !writer_->InTrouble(); });
      EXPECT_TRUE(Ok(writer_->SyncUpTo(writer_->appended().end())));
    }
    EXPECT_TRUE(Ok(writer_->Stop()));
    EXPECT_THAT(AfterPowerLoss(), ElementsAre("a"));
  }
}

TEST_F(LogWriterTest, WhatWaitsBeyondItsMemoryMakesWritersWait) {
  Begin(FsyncPolicy::kEverySecond);
  disk_->SetFault({1, Fault::Kind::kFailFromOn, "No space left on device"});
  const std::string name(1 << 20, 'n');
  for (uint64_t bytes = 0; bytes <= LogWriter::kMaxWaitingBytes; bytes += name.size()) Append(name);
  EXPECT_EQ(writer_->AwaitedPosition(), writer_->appended().end());
  const auto reached = Await();
  EXPECT_FALSE(IsReady(reached));
  disk_->SetFault({});
  reached.wait();
  EXPECT_EQ(writer_->AwaitedPosition(), 0u);
}

// ---- segments

TEST_F(LogWriterTest, ASnapshotsSegmentsBeforeAreRemoved) {
  Begin(FsyncPolicy::kAlways);
  Append("a");
  const uint64_t position = writer_->appended().BeginSegment();
  EXPECT_EQ(position, writer_->appended().end());
  Append("b");
  Await().wait();
  EXPECT_THAT(Read(*memory_), ElementsAre("a", "b"));
  EXPECT_EQ(ListLog(*memory_, "/d/log")->size(), 2u);
  writer_->RemoveBefore(position);
  AwaitThat([&] { return ListLog(*memory_, "/d/log")->size() == 1; });
  EXPECT_EQ(ListLog(*memory_, "/d/log")->front().start, position);
}

TEST_F(LogWriterTest, ASecondSegmentAtOnePlaceIsTheSame) {
  Begin(FsyncPolicy::kAlways);
  Append("a");
  writer_->appended().BeginSegment();
  const uint64_t position = writer_->appended().BeginSegment();
  writer_->appended().BeginSegment();
  writer_->RemoveBefore(position);
  AwaitThat([&] {
    const auto files = ListLog(*memory_, "/d/log").value_or(std::vector<LogFile>());
    return files.size() == 1 && files.front().start == position;
  });
  Append("b");
  Await().wait();
  EXPECT_EQ(ListLog(*memory_, "/d/log")->size(), 1u);
}

TEST_F(LogWriterTest, ItGoesOnWhereAnEarlierOneEnded) {
  Begin(FsyncPolicy::kEverySecond);
  Append("a");
  EXPECT_TRUE(Ok(writer_->Stop()));
  const uint64_t end = writer_->appended().end();
  Begin(FsyncPolicy::kEverySecond, end);
  Append("b");
  EXPECT_TRUE(Ok(writer_->Stop()));
  EXPECT_THAT(Read(*memory_), ElementsAre("a", "b"));
}

// ---- a slow disk

class SlowDiskTest : public LogWriterTest, public testing::WithParamInterface<std::tuple<FsyncPolicy, const char*>> {
 protected:
  void TearDown() override { gate_.Open(); }
  std::vector<std::string> AfterAKill() { return Read(memory_->Copy()); }
  Gate gate_;
};

// Whichever of these the disk is slow at, what is acknowledged in that time is written, and survives a kill.
TEST_P(SlowDiskTest, HoldsUpNoWriting) {
  disk_->SetHook([this](const std::string& step) { gate_.Pass(step); });
  Begin(std::get<FsyncPolicy>(GetParam()));
  Append("a");
  Await().wait();
  gate_.Close(std::get<const char*>(GetParam()));
  const uint64_t position = writer_->appended().BeginSegment();
  Append("b");
  Await().wait();
  writer_->RemoveBefore(position);
  gate_.AwaitStop();
  for (const char* name : {"c", "d"}) {
    Append(name);
    Await().wait();
  }
  EXPECT_THAT(AfterAKill(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(writer_->AwaitedPosition(), 0u);
  gate_.Open();
  AwaitThat([&] { return ListLog(*memory_, "/d/log")->front().start == position; });
  EXPECT_TRUE(Ok(writer_->Stop()));
  EXPECT_THAT(AfterPowerLoss(position), ElementsAre("b", "c", "d"));
}

INSTANTIATE_TEST_SUITE_P(Steps, SlowDiskTest,
                         testing::Combine(testing::Values(FsyncPolicy::kEverySecond, FsyncPolicy::kNever),
                                          testing::Values("sync /d/log/00000000000000000000.log", "sync directory",
                                                          "create", "sync /d/log/CURRENT.tmp",
                                                          "rename /d/log/CURRENT.tmp", "remove")));

// At no moment of a change of segments would a kill lose what was awaited.
TEST_F(LogWriterTest, AKillAtAnyStepOfASegmentsBeginningLosesNothingThatIsWritten) {
  std::mutex mutex;
  std::vector<std::string> awaited;
  disk_->SetHook([&](const std::string& step) {
    const std::lock_guard lock(mutex);
    const std::vector<std::string> found = Read(memory_->Copy());
    ASSERT_GE(found.size(), awaited.size()) << step;
    EXPECT_THAT(std::vector(found.begin(), found.begin() + static_cast<ptrdiff_t>(awaited.size())), awaited) << step;
  });
  Begin(FsyncPolicy::kEverySecond);
  for (int i = 0; i < 200; ++i) {
    if (i % 7 == 3) writer_->appended().BeginSegment();
    Append(std::to_string(i));
    Await().wait();
    const std::lock_guard lock(mutex);
    awaited.push_back(std::to_string(i));
  }
  EXPECT_TRUE(Ok(writer_->Stop()));
  EXPECT_EQ(ListLog(*memory_, "/d/log")->size(), 30u);
  EXPECT_THAT(AfterPowerLoss(), SizeIs(200));
}

// A disk that takes no bytes at all holds up the replies: soon nothing more is acknowledged.
TEST_F(LogWriterTest, WhatWaitsTooLongToBeWrittenLetsRepliesWait) {
  const auto gate = std::make_shared<Gate>();
  disk_->SetHook([gate](const std::string& step) { gate->Pass(step); });
  Begin(FsyncPolicy::kEverySecond);
  Append("a");
  Await().wait();
  AwaitThat([&] { return writer_->Status().oldest_unwritten_ms == 0; });
  gate->Close("write");
  Append("b");
  EXPECT_EQ(writer_->AwaitedPosition(), 0u);
  AwaitThat([&] { return writer_->AwaitedPosition() == writer_->appended().end(); });
  EXPECT_GT(writer_->Status().oldest_unwritten_ms, LogWriter::kMaxUnwrittenMs);
  const auto reached = Await();
  EXPECT_FALSE(IsReady(reached));
  gate->Open();
  reached.wait();
  EXPECT_EQ(writer_->AwaitedPosition(), 0u);
  AwaitThat([&] { return writer_->Status().oldest_unwritten_ms == 0; });
}

// ---- trouble

class LogWriterTroubleTest : public LogWriterTest, public testing::WithParamInterface<FsyncPolicy> {};

// Each step of the disk in turn fails, half done or not at all, once or for a while: nothing is lost, nothing is there
// twice, and every waiter is notified once the log has recovered.
TEST_P(LogWriterTroubleTest, WhateverFailsIsMended) {
  for (const Fault::Kind kind : {Fault::Kind::kFail, Fault::Kind::kShortWrite, Fault::Kind::kFailFromOn}) {
    for (uint64_t step = 1;; ++step) {
      BeginAnew();
      Begin(GetParam());
      disk_->SetFault({step, kind, "Input/output error"});
      Append("a");
      if (kind != Fault::Kind::kFailFromOn) Await().wait();
      Append("b");
      writer_->appended().BeginSegment();
      Append("c");
      if (kind == Fault::Kind::kFailFromOn) AwaitThat([&] { return writer_->InTrouble() || disk_->steps() < step; });
      if (writer_->InTrouble()) {
        AwaitThat([&] { return !writer_->InTrouble() || !writer_->Status().trouble.empty(); });
      }
      const bool hit = disk_->steps() >= step;
      disk_->SetFault({});
      Await().wait();
      EXPECT_TRUE(Ok(writer_->Stop()));
      EXPECT_FALSE(writer_->InTrouble());
      EXPECT_THAT(Read(*memory_), ElementsAre("a", "b", "c")) << step;
      EXPECT_THAT(AfterPowerLoss(), ElementsAre("a", "b", "c")) << step;
      if (!hit) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, LogWriterTroubleTest,
                         testing::Values(FsyncPolicy::kAlways, FsyncPolicy::kEverySecond, FsyncPolicy::kNever));

TEST_F(LogWriterTest, TroubleIsToldAndEndsByItself) {
  Begin(FsyncPolicy::kAlways);
  disk_->SetFault({1, Fault::Kind::kFailFromOn, "No space left on device"});
  Append("a");
  const auto reached = Await();
  AwaitThat([&] { return writer_->InTrouble() && !writer_->Status().trouble.empty(); });
  EXPECT_THAT(writer_->Status().trouble, HasSubstr("No space left on device"));
  EXPECT_FALSE(IsReady(reached));
  disk_->SetFault({});
  reached.wait();
  AwaitThat([&] { return !writer_->InTrouble(); });
  EXPECT_THAT(writer_->Status().trouble, IsEmpty());
}

TEST_F(LogWriterTest, AStopInTroubleTellsWhatIsLost) {
  Begin(FsyncPolicy::kAlways);
  disk_->SetFault({1, Fault::Kind::kFailFromOn, "No space left on device"});
  Append("a");
  const auto reached = Await();
  const core::Status stopped = writer_->Stop();
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().message, HasSubstr("No space left on device"));
  EXPECT_FALSE(IsReady(reached)) << "what is not durable is never told to be";
}

// ---- files of contents

TEST_F(LogWriterTest, TheFilesThatImagesNameGoWithTheirSegments) {
  Begin(FsyncPolicy::kAlways);
  for (const uint64_t file_id : {1, 2}) memory_->Put(directory_->FilterPath(file_id), "content");
  writer_->appended().Append(log::Image{.id = 7, .sequence = 0, .file_id = 1, .seal = {}});
  const uint64_t position = writer_->appended().BeginSegment();
  writer_->appended().Append(log::Image{.id = 7, .sequence = 1, .file_id = 2, .seal = {}});
  Await().wait();
  EXPECT_THAT(*memory_->List("/d/filters"), ElementsAre("1.filter", "2.filter"));
  writer_->RemoveBefore(position);
  AwaitThat([&] { return memory_->List("/d/filters")->size() == 1; });
  EXPECT_THAT(*memory_->List("/d/filters"), ElementsAre("2.filter"));
}

// The second of three finds no memory to be notified, twice.
TEST_F(LogWriterTest, ACallerThatCannotBeNotifiedForLackOfMemoryIsNotifiedLaterAndTheOthersOnce) {
  Begin(FsyncPolicy::kAlways);
  const uint64_t after_a = writer_->appended().end() + 1;
  std::atomic<int> calls[3] = {};
  std::promise<void> all;
  std::atomic<int> notified = 0;
  for (int i = 0; i < 3; ++i) {
    writer_->Await(after_a, [&, i] {
      if (++calls[i] <= 2 && i == 1) throw std::bad_alloc();
      if (++notified == 3) all.set_value();
    });
  }
  Append("a");
  all.get_future().wait();
  EXPECT_TRUE(Ok(writer_->Stop()));
  EXPECT_EQ(calls[0], 1);
  EXPECT_EQ(calls[1], 3);
  EXPECT_EQ(calls[2], 1);
}

}  // namespace
}  // namespace bitsieve::server
