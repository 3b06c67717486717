#include "server/persistence/backup/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "server/persistence/backup/pinned_directory.h"
#include "server/persistence/disk/posix_disk.h"
#include "server/persistence/log/log_segment.h"
#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/quiet_backup.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using test::kQuiet;

class Backup : public testing::Test {
 protected:
  // Large filters and small ones, in files, in a pack and in the log.
  Backup() {
    EXPECT_TRUE(Ok(server_.Start(source_disk_, "/d", {.max_packed_bytes = 200, .log = FsyncPolicy::kAlways})));
    AddItems(*server_.keyspace.Make("large", 1000), "a", 50);
    AddItems(*server_.keyspace.Make("small", 5), "b", 3);
    EXPECT_TRUE(Ok(server_.writer->Save()));
    AddItems(*server_.keyspace.Make("logged"), "c", 20);
    server_.AwaitLog();
  }

  std::unique_ptr<PinnedDirectory> Pin() {
    auto pinned = PinnedDirectory::Pin(source_disk_, "/d");
    EXPECT_TRUE(Ok(pinned));
    return pinned ? std::move(*pinned) : nullptr;
  }
  core::Result<Inspection> BackUpTo(Disk& disk) { return BackUp(*Pin(), disk, target_, kQuiet); }
  core::Result<Inspection> RestoreTo(Disk& disk, const std::string& target) {
    const auto backup = PinnedDirectory::Pin(posix_, target_);
    if (!backup) return tl::unexpected(backup.error());
    const auto fill = [&](const std::string& path) { return CopyFiles(**backup, disk, path, kQuiet); };
    return Restore(fill, disk, target, kQuiet);
  }
  static Contents ContentsAt(const std::string& path) {
    PosixDisk disk;
    TestServer server;
    EXPECT_TRUE(Ok(server.Start(disk, path, {.log = FsyncPolicy::kAlways})));
    return server.contents();
  }

  MemoryDisk source_disk_;
  PosixDisk posix_;
  TemporaryDirectory directory_;
  const std::string target_ = directory_.path() + "/backup";
  const std::string restored_ = directory_.path() + "/data";
  TestServer server_;
};

TEST_F(Backup, HoldsWhatTheServerHas) {
  const auto made = BackUpTo(posix_);
  ASSERT_TRUE(Ok(made));
  EXPECT_TRUE(made->verified);
  EXPECT_EQ(made->filters.size(), 2U);
  EXPECT_FALSE(fs::exists(target_ + "/LOCK"));
  EXPECT_FALSE(fs::exists(target_ + ".partial"));
  ASSERT_TRUE(Ok(RestoreTo(posix_, restored_)));
  EXPECT_FALSE(fs::exists(restored_ + "/restore.partial"));
  EXPECT_EQ(ContentsAt(restored_), server_.contents());
  EXPECT_EQ(ContentsAt(target_), server_.contents()) << "a backup is a data directory";
}

TEST_F(Backup, StaysWhatItWasWhenTheServerGoesOn) {
  const auto pinned = Pin();
  const Contents before = server_.contents();
  AddItems(*server_.keyspace.registry.Find("large"), "more", 20);
  ASSERT_TRUE(Ok(server_.writer->Save()));
  AddItems(*server_.keyspace.registry.Find("large"), "even more", 20);
  ASSERT_TRUE(Ok(server_.writer->Save()));
  ASSERT_TRUE(Ok(BackUp(*pinned, posix_, target_, kQuiet)));
  EXPECT_EQ(ContentsAt(target_), before);
}

// Whatever the server replaces and removes while it is pinned, what comes out is whole and has what was there before.
TEST_F(Backup, OfAServerThatSavesWithoutAPause) {
  std::atomic<bool> stop{false};
  std::thread saver([&] {
    for (int i = 0; !stop; ++i) {
      AddItem(*server_.keyspace.registry.Find("large"), "s" + std::to_string(i));
      EXPECT_TRUE(Ok(server_.writer->Save()));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // not less than an attempt takes, or all fail
    }
  });
  for (int i = 0; i < 10; ++i) {
    const auto pinned = PinnedDirectory::Pin(source_disk_, "/d");
    if (!pinned) ADD_FAILURE() << pinned.error().message;
    EXPECT_TRUE(!pinned || Ok(VerifyBackup(**pinned, "/d")));
  }
  stop = true;
  saver.join();
}

TEST_F(Backup, LeavesOutWhatAStartDoesNotNeed) {
  source_disk_.Put("/d/filters/999.filter", "a leftover");
  source_disk_.Put("/d/MANIFEST.tmp", "another");
  const auto pinned = Pin();
  for (const PinnedFile& file : pinned->files()) {
    EXPECT_THAT(file.name, AllOf(Not(HasSubstr("999")), Not(HasSubstr("tmp")), Not("LOCK")));
  }
  EXPECT_EQ(pinned->files().back().name, "MANIFEST");
}

TEST_F(Backup, OfAServerWithoutALog) {
  MemoryDisk disk;
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk, "/n")));
  AddItems(*server.keyspace.Make("f"), "a", 50);
  ASSERT_TRUE(Ok(server.writer->Save()));
  disk.Put("/n/log/CURRENT", "of a log that is no more");
  const auto pinned = PinnedDirectory::Pin(disk, "/n");
  ASSERT_TRUE(Ok(pinned));
  EXPECT_EQ((*pinned)->files().size(), 2U);
  ASSERT_TRUE(Ok(BackUp(**pinned, posix_, target_, kQuiet)));
  EXPECT_EQ(ContentsAt(target_), server.contents());
}

TEST_F(Backup, EndsWithTheLastWholeRecord) {
  server_.Stop();
  const std::string segment = source_disk_.List("/d/log").value().at(source_disk_.List("/d/log").value().size() - 2);
  const std::string path = "/d/log/" + segment;
  const std::string whole = source_disk_.Get(path);
  source_disk_.Put(path, whole + whole.substr(kLogHeadBytes, kLogFrameHeadBytes + 3));
  const auto made = BackUpTo(posix_);
  ASSERT_TRUE(Ok(made));
  EXPECT_FALSE(made->scan.torn);
  EXPECT_EQ(fs::file_size(target_ + "/log/" + segment), whole.size());
}

TEST_F(Backup, DamageIsNamedAndNothingIsMade) {
  server_.Stop();
  const std::string path = "/d/" + Pin()->files().front().name;
  std::string bytes = source_disk_.Get(path);
  bytes[bytes.size() / 2] ^= 1;
  source_disk_.Put(path, bytes);
  const auto made = BackUpTo(posix_);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(made.error().message, HasSubstr(path + ": "));
  EXPECT_FALSE(fs::exists(target_));
  EXPECT_FALSE(fs::exists(target_ + ".partial"));
  source_disk_.Put(path, "");
  ASSERT_TRUE(source_disk_.Remove(path));
  EXPECT_THAT(PinnedDirectory::Pin(source_disk_, "/d").error().message, HasSubstr(path + ": is missing"));
}

TEST_F(Backup, NeedsAPlaceOfItsOwn) {
  fs::create_directory(target_);
  EXPECT_TRUE(Ok(BackUpTo(posix_))) << "an empty one will do";
  const auto again = BackUpTo(posix_);
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr(target_ + ": is not empty, it holds MANIFEST, filters, log"));
  EXPECT_THAT(PinnedDirectory::Pin(posix_, directory_.path()).error().message, HasSubstr("holds no snapshot"));
}

TEST_F(Backup, OneAtATimeToOnePlace) {
  fs::create_directory(target_ + ".partial");
  const auto lock = posix_.Lock(target_ + ".partial/LOCK");
  ASSERT_TRUE(lock);
  EXPECT_THAT(BackUpTo(posix_).error().message, HasSubstr("held by process"));
}

TEST_F(Backup, AFailureAtAnyStepLeavesNothingOrAll) {
  server_.Stop();
  FaultDisk disk(posix_);
  disk.SetFault({});
  ASSERT_TRUE(Ok(BackUpTo(disk)));
  const uint64_t steps = disk.steps();
  for (const auto kind : {Fault::Kind::kFailFromOn, Fault::Kind::kShortWrite}) {
    for (uint64_t step = 1; step <= steps; ++step) {
      fs::remove_all(target_);
      disk.SetFault({.step = step, .kind = kind});
      const auto made = BackUpTo(disk);
      disk.SetFault({});
      EXPECT_FALSE(made) << step;
      // The last step makes the name durable: it is there, and whole.
      EXPECT_TRUE(!fs::exists(target_) || Ok(VerifyBackup(posix_, target_)));
      EXPECT_EQ(fs::exists(target_), step == steps) << step;
      fs::remove_all(target_);
      EXPECT_TRUE(Ok(BackUpTo(posix_))) << "after a failure at step " << step;
    }
  }
}

TEST_F(Backup, ARestoreThatFailsAtAnyStepCanBeDoneAgain) {
  const Contents contents = server_.contents();
  server_.Stop();
  ASSERT_TRUE(Ok(BackUpTo(posix_)));
  FaultDisk disk(posix_);
  disk.SetFault({});
  ASSERT_TRUE(Ok(RestoreTo(disk, restored_)));
  const uint64_t steps = disk.steps();
  for (const auto kind : {Fault::Kind::kFailFromOn, Fault::Kind::kShortWrite}) {
    for (uint64_t step = 1; step <= steps; ++step) {
      fs::remove_all(restored_);
      disk.SetFault({.step = step, .kind = kind});
      const auto made = RestoreTo(disk, restored_);
      EXPECT_FALSE(made) << step;
      if (fs::exists(restored_ + "/MANIFEST")) {
        EXPECT_TRUE(Ok(VerifyBackup(posix_, restored_))) << step;
      } else {
        EXPECT_TRUE(Ok(RestoreTo(posix_, restored_))) << step;
      }
      EXPECT_TRUE(step % 4 != 0 || ContentsAt(restored_) == contents) << step;
    }
  }
}

TEST_F(Backup, ARestoreTakesNoDirectoryThatIsInUse) {
  ASSERT_TRUE(Ok(BackUpTo(posix_)));
  fs::create_directory(restored_);
  {
    const auto lock = posix_.Lock(restored_ + "/LOCK");
    EXPECT_THAT(RestoreTo(posix_, restored_).error().message, HasSubstr("held by process"));
  }
  std::ofstream(restored_ + "/a") << "somebody's";
  EXPECT_THAT(RestoreTo(posix_, restored_).error().message, HasSubstr("is not empty, it holds a"));
  fs::remove(restored_ + "/a");
  fs::create_directory(restored_ + "/lost+found");
  EXPECT_TRUE(Ok(RestoreTo(posix_, restored_)));
}

TEST_F(Backup, ADamagedOneIsNotRestored) {
  ASSERT_TRUE(Ok(BackUpTo(posix_)));
  const std::string path = target_ + "/" + Pin()->files().front().name;
  fs::resize_file(path, fs::file_size(path) - 1);
  const auto made = RestoreTo(posix_, restored_);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr(fs::path(path).filename().string() + ": "));
  EXPECT_FALSE(fs::exists(restored_ + "/MANIFEST"));
  EXPECT_FALSE(fs::exists(restored_ + "/restore.partial"));
}

}  // namespace
}  // namespace bitsieve::server
