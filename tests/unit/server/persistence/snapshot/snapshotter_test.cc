#include "server/persistence/snapshot/snapshotter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <optional>

#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Lets a save be held at its first step.
class GateDisk final : public Disk {
 public:
  explicit GateDisk(Disk& base) : base_(base) {}
  void Shut() { Set(true); }
  void Open() { Set(false); }
  void WaitUntilSomebodyWaits() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_; });
  }

  core::Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    std::unique_lock lock(mutex_);
    waiting_ = shut_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !shut_; });
    waiting_ = false;
    return base_.Create(path);
  }
  core::Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override { return base_.Open(path); }
  core::Status SyncFile(const std::string& path) override { return base_.SyncFile(path); }
  core::Status Rename(const std::string& from, const std::string& to) override { return base_.Rename(from, to); }
  core::Status Remove(const std::string& path) override { return base_.Remove(path); }
  core::Status CreateDirectory(const std::string& path) override { return base_.CreateDirectory(path); }
  core::Status SyncDirectory(const std::string& path) override { return base_.SyncDirectory(path); }
  core::Result<std::vector<std::string>> List(const std::string& path) const override { return base_.List(path); }
  core::Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return base_.Lock(path); }
  std::string LockHolder(const std::string& path) const override { return base_.LockHolder(path); }

 private:
  void Set(bool shut) {
    const std::lock_guard lock(mutex_);
    shut_ = shut;
    changed_.notify_all();
  }
  Disk& base_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
  bool waiting_ = false;
};

class SnapshotterTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = DataDirectory::Open(disk_, "/d").value();
    recovery_ = Recover(*directory_, keyspace_.registry, filter_clock_, {}).value();
    file_ids_.emplace(recovery_.next_file_id);
  }
  void Begin(seconds interval = seconds(0)) {
    snapshotter_.emplace(
        SnapshotParts{
            *directory_, keyspace_.registry, *file_ids_, {image_memory_, core::Patience::kWait}, core::SystemClock()},
        std::move(recovery_.saved), SnapshotSchedule{.interval = interval});
  }
  std::future<core::Status> AskForSave() {
    auto promise = std::make_shared<std::promise<core::Status>>();
    snapshotter_->Save([promise](core::Status status) { promise->set_value(std::move(status)); });
    return promise->get_future();
  }
  Contents Saved() {
    MemoryDisk copy;
    for (const auto& [path, bytes] : memory_.All()) copy.Put(path, bytes);
    TestServer server;
    EXPECT_TRUE(Ok(server.Start(copy, "/d")));
    return server.contents();
  }
  Contents Current() const { return ContentsOf(keyspace_.registry); }
  bool SavedWithin(milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (std::chrono::steady_clock::now() < end) {
      if (snapshotter_->Status().changes_since_last_save == 0) return true;
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }

  MemoryDisk memory_;
  FaultDisk faults_{memory_};
  GateDisk disk_{faults_};
  core::FilterClock filter_clock_;
  core::MemoryBudget image_memory_;
  TestKeyspace keyspace_;
  std::optional<FileIds> file_ids_;
  std::unique_ptr<DataDirectory> directory_;
  Recovery recovery_;
  std::optional<Snapshotter> snapshotter_;
};

TEST_F(SnapshotterTest, SavesWhenAsked) {
  Begin();
  AddItem(*keyspace_.Make("a"), "x");
  EXPECT_EQ(snapshotter_->Status().changes_since_last_save, 2u);
  EXPECT_EQ(snapshotter_->Status().last_duration_ms, -1);
  EXPECT_TRUE(Ok(AskForSave().get()));
  const SnapshotterStatus status = snapshotter_->Status();
  EXPECT_EQ(status.changes_since_last_save, 0u);
  EXPECT_GE(status.last_duration_ms, 0);
  EXPECT_GE(status.last_save_unix_s, 1600000000);
  EXPECT_TRUE(status.last_ok);
  EXPECT_FALSE(status.in_progress);
  EXPECT_EQ(Saved(), Current());
}

TEST_F(SnapshotterTest, WhoAsksDuringASaveHearsOfTheNextOne) {
  Begin();
  keyspace_.Make("a");
  disk_.Shut();
  auto first = AskForSave();
  disk_.WaitUntilSomebodyWaits();
  EXPECT_TRUE(snapshotter_->Status().in_progress);
  keyspace_.Make("b");
  auto second = AskForSave();
  auto third = AskForSave();
  EXPECT_EQ(first.wait_for(milliseconds(20)), std::future_status::timeout);
  disk_.Open();
  EXPECT_TRUE(Ok(first.get()));
  EXPECT_TRUE(Ok(second.get()));
  EXPECT_TRUE(Ok(third.get()));
  EXPECT_EQ(Saved(), Current());
}

TEST_F(SnapshotterTest, SavesByItselfOnlyWhatChanged) {
  Begin(seconds(1));
  keyspace_.Make("a");
  EXPECT_TRUE(SavedWithin(milliseconds(5000)));
  faults_.SetFault({});  // counts from here on
  std::this_thread::sleep_for(milliseconds(1200));
  EXPECT_EQ(faults_.steps(), 0u) << "nothing changed, nothing is written";
}

TEST_F(SnapshotterTest, TheIntervalCanBeChanged) {
  Begin();
  keyspace_.Make("a");
  EXPECT_FALSE(SavedWithin(milliseconds(50))) << "0 is never";
  snapshotter_->SetSchedule({.interval = seconds(3600)});
  EXPECT_FALSE(SavedWithin(milliseconds(50)));
  snapshotter_->SetSchedule({.interval = seconds(1)});
  EXPECT_TRUE(SavedWithin(milliseconds(5000)));
}

TEST_F(SnapshotterTest, AFailureIsToldAndTheNextAttemptSucceeds) {
  Begin();
  AddItem(*keyspace_.Make("a"), "x");
  const Contents before = Saved();
  faults_.SetFault({2, Fault::Kind::kShortWrite, "No space left on device"});
  const core::Status status = AskForSave().get();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "/d/filters/1.filter: cannot write: No space left on device");
  EXPECT_FALSE(snapshotter_->Status().last_ok);
  EXPECT_EQ(snapshotter_->Status().changes_since_last_save, 2u);
  EXPECT_EQ(Saved(), before);
  EXPECT_TRUE(Ok(AskForSave().get()));
  EXPECT_TRUE(snapshotter_->Status().last_ok);
  EXPECT_EQ(Saved(), Current());
}

TEST_F(SnapshotterTest, AFailureIsTriedAgainByItself) {
  Begin(seconds(1));
  faults_.SetFault({1, Fault::Kind::kFail, "Input/output error"});
  keyspace_.Make("a");
  EXPECT_TRUE(SavedWithin(milliseconds(10000)));
  EXPECT_EQ(Saved(), Current());
}

TEST_F(SnapshotterTest, StopSavesIfTold) {
  Begin();
  keyspace_.Make("a");
  EXPECT_TRUE(Ok(snapshotter_->Stop(true)));
  EXPECT_EQ(Saved(), Current());
  EXPECT_THAT(AskForSave().get().error().message, HasSubstr("shutting down"));
}

TEST_F(SnapshotterTest, StopWithoutASaveLeavesTheLastOne) {
  Begin();
  keyspace_.Make("a");
  ASSERT_TRUE(Ok(AskForSave().get()));
  const Contents saved = Current();
  keyspace_.Make("b");
  EXPECT_TRUE(Ok(snapshotter_->Stop(false)));
  EXPECT_EQ(Saved(), saved);
}

TEST_F(SnapshotterTest, AFailedFinalSaveIsTold) {
  Begin();
  keyspace_.Make("a");
  faults_.SetFault({1, Fault::Kind::kFail, "Read-only file system"});
  EXPECT_THAT(snapshotter_->Stop(true).error().message, HasSubstr("Read-only file system"));
}

TEST_F(SnapshotterTest, WhoWaitsAtAStopHearsOfIt) {
  Begin();
  keyspace_.Make("a");
  disk_.Shut();
  auto running = AskForSave();
  disk_.WaitUntilSomebodyWaits();
  auto waiting = AskForSave();
  auto stopped = std::async(std::launch::async, [this] { return snapshotter_->Stop(false); });
  // A request is refused from the moment that the stop is known.
  while (AskForSave().wait_for(milliseconds(1)) == std::future_status::timeout) continue;
  disk_.Open();
  EXPECT_TRUE(Ok(running.get()));
  EXPECT_THAT(waiting.get().error().message, HasSubstr("shutting down"));
  EXPECT_TRUE(Ok(stopped.get()));
}

}  // namespace
}  // namespace bitsieve::server
