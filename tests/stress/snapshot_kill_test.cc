// Processes that are killed before, within and after every single step that a snapshot takes on a real disk, and what
// the next start makes of what they leave: exactly the last complete snapshot or exactly the new one. (What a power
// failure leaves, where the system's own memory is gone too, is in
// tests/unit/server/persistence/snapshot/snapshot_faults_test.cc.)
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "core/families/bloom/bloom_types.h"
#include "server/persistence/disk/posix_disk.h"
#include "tests/support/fault_disk.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

constexpr uint32_t kChunkBytes = 128;  // many chunks, so many writes to die in
constexpr Fault::Kind kKills[] = {Fault::Kind::kKillBefore, Fault::Kind::kKillWithin, Fault::Kind::kKillAfter};

void Prepare(TestServer& server) {
  AddItems(*server.keyspace.Make("changed"), "a", 20);
  AddItems(*server.keyspace.Make("removed"), "b", 20);
  AddItems(*server.keyspace.Make("renamed", 50, core::kClassicType), "c", 20);
  AddItems(*server.keyspace.Make("same"), "d", 20);
}

void Change(TestServer& server) {
  Registry& registry = server.keyspace.registry;
  AddItems(*registry.Find("changed"), "more", 300);
  registry.Remove("removed");
  registry.Rename("renamed", "moved", false);
  AddItems(*server.keyspace.Make("new", 2000), "e", 1000);
}

enum class Outcome { kKilled, kFinished, kFailed };

// Runs `act` in a process of its own. One thread only: the child of a process with several may not do much.
Outcome RunInChild(const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return Outcome::kKilled;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Outcome::kFinished : Outcome::kFailed;
}

class SnapshotKillTest : public testing::Test {
 protected:
  SnapshotKillTest() : data_(directory_.path() + "/data"), template_(directory_.path() + "/template") {}

  static core::Status Start(TestServer& server, Disk& disk, const std::string& path,
                            OnCorruptFilter on_corrupt = OnCorruptFilter::kRefuse) {
    return server.Start(disk, path, {.on_corrupt_filter = on_corrupt, .chunk_bytes = kChunkBytes, .threads = 1});
  }

  // A directory with a snapshot of `before_`, to copy from; `after_` is what the child will save.
  void MakeTemplate() {
    TestServer server;
    ASSERT_TRUE(Ok(Start(server, disk_, template_)));
    Prepare(server);
    ASSERT_TRUE(Ok(server.writer->Save()));
    before_ = server.contents();
    Change(server);
    after_ = server.contents();
    ASSERT_NE(before_, after_);
  }
  void CopyTemplate() {
    std::filesystem::remove_all(data_);
    std::filesystem::copy(template_, data_, std::filesystem::copy_options::recursive);
  }

  Contents Recover(const std::string& path, OnCorruptFilter on_corrupt = OnCorruptFilter::kRefuse) {
    TestServer server;
    EXPECT_TRUE(Ok(Start(server, disk_, path, on_corrupt)));
    return server.contents();
  }

  // Calls `run` with one kill after the other until a child gets through; returns how many were killed.
  template <class Run>
  int KillAtEveryStep(const Run& run) {
    int kills = 0;
    for (const Fault::Kind kind : kKills) {
      for (uint64_t step = 1;; ++step) {
        SCOPED_TRACE("kill of kind " + std::to_string(static_cast<int>(kind)) + " at step " + std::to_string(step));
        const Outcome outcome = run(Fault{step, kind});
        EXPECT_NE(outcome, Outcome::kFailed);
        if (testing::Test::HasFailure() || outcome != Outcome::kKilled) break;
        ++kills;
      }
    }
    return kills;
  }

  PosixDisk disk_;
  TemporaryDirectory directory_;
  const std::string data_;
  const std::string template_;
  Contents before_;
  Contents after_;
};

TEST_F(SnapshotKillTest, AKillAtAnyStepOfASaveLeavesTheOldSnapshotOrTheNewOne) {
  MakeTemplate();
  int old_ones = 0;
  int new_ones = 0;
  const int kills = KillAtEveryStep([&](const Fault& fault) {
    CopyTemplate();
    const Outcome outcome = RunInChild([&] {
      FaultDisk faults(disk_);
      TestServer server;
      if (!Start(server, faults, data_)) return false;
      Change(server);
      faults.SetFault(fault);
      return server.writer->Save().has_value();
    });
    const Contents recovered = Recover(data_);
    EXPECT_TRUE(recovered == before_ || recovered == after_);
    if (outcome == Outcome::kFinished) {
      EXPECT_EQ(recovered, after_);
    }
    ++(recovered == before_ ? old_ones : new_ones);
    // The start cleaned up: nothing is left for the next one to find, and saving goes on.
    TestServer again;
    EXPECT_TRUE(Ok(Start(again, disk_, data_)));
    EXPECT_EQ(again.report.leftovers_removed, 0u);
    EXPECT_EQ(again.contents(), recovered);
    AddItem(*again.keyspace.registry.Find("same"), "later");
    EXPECT_TRUE(Ok(again.writer->Save()));
    const Contents last = again.contents();
    again.Stop();
    EXPECT_EQ(Recover(data_), last);
    return outcome;
  });
  EXPECT_GE(kills, 100);
  EXPECT_GT(old_ones, 0);
  EXPECT_GT(new_ones, 0);
}

TEST_F(SnapshotKillTest, AKillAtAnyStepOfTheFirstStartLeavesAnEmptyStart) {
  const int kills = KillAtEveryStep([&](const Fault& fault) {
    std::filesystem::remove_all(data_);
    const Outcome outcome = RunInChild([&] {
      FaultDisk faults(disk_);
      faults.SetFault(fault);
      TestServer server;
      return Start(server, faults, data_).has_value();
    });
    EXPECT_TRUE(Recover(data_).empty());
    return outcome;
  });
  EXPECT_GE(kills, 15);
}

TEST_F(SnapshotKillTest, AKillAtAnyStepOfAQuarantineLosesNothingMore) {
  MakeTemplate();
  std::filesystem::resize_file(template_ + "/filters/1.filter", 100);
  Contents expected = before_;
  expected.erase("changed");
  const int kills = KillAtEveryStep([&](const Fault& fault) {
    CopyTemplate();
    const Outcome outcome = RunInChild([&] {
      FaultDisk faults(disk_);
      faults.SetFault(fault);
      TestServer server;
      return Start(server, faults, data_, OnCorruptFilter::kQuarantine).has_value();
    });
    EXPECT_EQ(Recover(data_, OnCorruptFilter::kQuarantine), expected);
    EXPECT_EQ(std::filesystem::file_size(data_ + "/quarantine/1.filter"), 100u);
    EXPECT_EQ(Recover(data_, OnCorruptFilter::kRefuse), expected);
    return outcome;
  });
  EXPECT_GE(kills, 25);
}

TEST_F(SnapshotKillTest, AKilledServerLetsGoOfItsLock) {
  EXPECT_EQ(RunInChild([&] {
              TestServer server;
              if (!Start(server, disk_, data_)) return false;
              return std::raise(SIGKILL) == 0;
            }),
            Outcome::kKilled);
  EXPECT_TRUE(Recover(data_).empty());
}

}  // namespace
}  // namespace bitsieve::server
