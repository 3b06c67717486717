// The state that a save and a start leave if the disk fails or the power goes at any one of their steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using testing::HasSubstr;

constexpr uint32_t kChunkBytes = 128;

void Prepare(TestServer& server) {
  AddItems(*server.keyspace.Make("changed"), "a", 20);
  AddItems(*server.keyspace.Make("removed"), "b", 20);
  AddItems(*server.keyspace.Make("renamed"), "c", 20);
  AddItems(*server.keyspace.Make("same"), "d", 20);
}

void Change(TestServer& server) {
  Registry& registry = server.keyspace.registry;
  AddItems(*registry.Find("changed"), "more", 100);
  registry.Remove("removed");
  registry.Rename("renamed", "moved", false);
  AddItems(*server.keyspace.Make("new", 200), "e", 100);
}

// Largest size of a filter that is packed: with kFiles each filter has a file of its own, with kPacks none here has.
constexpr uint64_t kFiles = 0;
constexpr uint64_t kPacks = kMaxPackedBytes;

// A server that has taken a whole snapshot and has changes to save.
struct Scene {
  explicit Scene(uint64_t max_packed_bytes) : max_packed(max_packed_bytes) {
    EXPECT_TRUE(Ok(Start(server, disk)));
    Prepare(server);
    EXPECT_TRUE(Ok(server.writer->Save()));
    before = server.contents();
    Change(server);
    after = server.contents();
  }

  core::Status Start(TestServer& started, Disk& on) const {
    return started.Start(on, "/d", {.chunk_bytes = kChunkBytes, .max_packed_bytes = max_packed});
  }
  void CrashServer() { server.Stop(); }
  Contents Recovered() {
    TestServer restarted;
    EXPECT_TRUE(Ok(Start(restarted, disk)));
    return restarted.contents();
  }
  // Every file in filters/ is one that the manifest lists.
  void ExpectNoLeftovers() {
    ChunkBuffer buffer;
    const auto manifest = ReadManifest(memory, "/d/MANIFEST", buffer);
    ASSERT_TRUE(Ok(manifest));
    EXPECT_EQ(memory.List("/d/filters")->size(), FileIdsOf(*manifest).size());
    EXPECT_FALSE(memory.All().contains("/d/MANIFEST.tmp"));
  }

  const uint64_t max_packed;
  MemoryDisk memory;
  FaultDisk disk{memory};
  TestServer server;
  Contents before;
  Contents after;
};

// Runs `test` for each step that a save takes.
void ForEachStep(uint64_t max_packed, const std::function<void(uint64_t step, const std::string& name)>& test) {
  Scene scene(max_packed);
  scene.disk.SetFault({});
  ASSERT_TRUE(Ok(scene.server.writer->Save()));
  const std::vector<std::string> steps = scene.disk.log();
  ASSERT_GT(steps.size(), 10u);
  for (size_t i = 0; i < steps.size(); ++i) test(i + 1, steps[i]);
}

class SnapshotFaultsTest : public testing::TestWithParam<uint64_t> {};

TEST(SnapshotFaults, StepsAreInTheOrderThatMakesThemSafe) {
  Scene scene(kFiles);
  scene.disk.SetFault({});
  ASSERT_TRUE(Ok(scene.server.writer->Save()));
  std::vector<std::string> steps = scene.disk.log();
  std::erase_if(steps,
                [](const std::string& step) { return step.starts_with("write ") || step.starts_with("close "); });
  EXPECT_THAT(
      steps, testing::ElementsAre("create /d/filters/5.filter", "sync /d/filters/5.filter",
                                  "create /d/filters/6.filter", "sync /d/filters/6.filter", "sync directory /d/filters",
                                  "create /d/MANIFEST.tmp", "sync /d/MANIFEST.tmp", "rename /d/MANIFEST.tmp",
                                  "sync directory /d", "remove /d/filters/1.filter", "remove /d/filters/2.filter"));
}

TEST(SnapshotFaults, StepsOfPacksAreInTheSameOrder) {
  Scene scene(kPacks);
  scene.disk.SetFault({});
  ASSERT_TRUE(Ok(scene.server.writer->Save()));
  std::vector<std::string> steps = scene.disk.log();
  std::erase_if(steps,
                [](const std::string& step) { return step.starts_with("write ") || step.starts_with("close "); });
  EXPECT_THAT(steps, testing::ElementsAre("create /d/filters/2.filter", "sync /d/filters/2.filter",
                                          "sync directory /d/filters", "create /d/MANIFEST.tmp", "sync /d/MANIFEST.tmp",
                                          "rename /d/MANIFEST.tmp", "sync directory /d"));
  // The pack before has one live record left: it goes with the next one.
  ASSERT_TRUE(Ok(scene.server.writer->Save()));
  EXPECT_THAT(scene.disk.log(), testing::Contains("remove /d/filters/1.filter"));
}

TEST_P(SnapshotFaultsTest, AnErrorAtAnyStepLeavesASnapshotWholeAndTheNextSaveSucceeds) {
  for (const Fault::Kind kind : {Fault::Kind::kFail, Fault::Kind::kFailFromOn, Fault::Kind::kShortWrite}) {
    ForEachStep(GetParam(), [kind](uint64_t step, const std::string& name) {
      SCOPED_TRACE("fault of kind " + std::to_string(static_cast<int>(kind)) + " at " + name);
      Scene scene(GetParam());
      scene.disk.SetFault({step, kind, "Input/output error"});
      const auto report = scene.server.writer->Save();
      const bool harmless = name.starts_with("remove ");
      ASSERT_EQ(report.has_value(), harmless);
      if (harmless) {
        EXPECT_FALSE(report->warnings.empty());
      } else {
        EXPECT_THAT(report.error().message, HasSubstr("Input/output error"));
        EXPECT_THAT(report.error().message, HasSubstr("/d"));
        EXPECT_EQ(report.error().code, core::ErrorCode::kIo);
        EXPECT_GT(scene.server.writer->ChangesAtMost(), 0u);
      }
      // The disk works again: what is there now, and what the next save makes of it.
      scene.disk.SetFault({});
      {
        MemoryDisk copy;
        for (const auto& [path, bytes] : scene.memory.All()) copy.Put(path, bytes);
        TestServer restarted;
        ASSERT_TRUE(Ok(restarted.Start(copy, "/d")));
        const bool swapped = harmless || name == "sync directory /d";
        EXPECT_EQ(restarted.contents(), swapped ? scene.after : scene.before);
      }
      AddItem(*scene.server.keyspace.registry.Find("same"), "later");
      ASSERT_TRUE(Ok(scene.server.writer->Save()));
      EXPECT_EQ(scene.server.writer->ChangesAtMost(), 0u);
      scene.ExpectNoLeftovers();
      const Contents last = scene.server.contents();
      scene.CrashServer();
      EXPECT_EQ(scene.Recovered(), last);
    });
  }
}

TEST_P(SnapshotFaultsTest, AFullDiskKeepsNoPartsOfAFailedSnapshot) {
  ForEachStep(GetParam(), [](uint64_t step, const std::string& name) {
    if (!name.starts_with("write ")) return;
    Scene scene(GetParam());
    const size_t files = scene.memory.All().size();
    scene.disk.SetFault({step, Fault::Kind::kShortWrite, "No space left on device"});
    ASSERT_FALSE(scene.server.writer->Save().has_value());
    EXPECT_EQ(scene.memory.All().size(), files) << name;
  });
}

TEST_P(SnapshotFaultsTest, LosingPowerAtAnyStepLeavesTheOldSnapshotOrTheNewOne) {
  for (const auto unsynced : {MemoryDisk::UnsyncedNames::kLost, MemoryDisk::UnsyncedNames::kKept}) {
    ForEachStep(GetParam(), [unsynced](uint64_t step, const std::string& name) {
      SCOPED_TRACE("power lost at " + name);
      Scene scene(GetParam());
      scene.disk.SetFault({step, Fault::Kind::kFailFromOn});
      (void)scene.server.writer->Save();
      scene.disk.SetFault({});
      scene.CrashServer();
      scene.memory.LosePower(unsynced);
      const Contents recovered = scene.Recovered();
      EXPECT_TRUE(recovered == scene.before || recovered == scene.after);
      if (name.starts_with("remove ")) {
        EXPECT_EQ(recovered, scene.after) << "the save was complete";
      }
      scene.ExpectNoLeftovers();
    });
  }
}

TEST_P(SnapshotFaultsTest, ACompletedSaveSurvivesLosingPower) {
  Scene scene(GetParam());
  ASSERT_TRUE(Ok(scene.server.writer->Save()));
  scene.CrashServer();
  scene.memory.LosePower(MemoryDisk::UnsyncedNames::kLost);
  EXPECT_EQ(scene.Recovered(), scene.after);
}

TEST(SnapshotFaults, LosingPowerDuringTheFirstStartLeavesAnEmptyStart) {
  for (const auto unsynced : {MemoryDisk::UnsyncedNames::kLost, MemoryDisk::UnsyncedNames::kKept}) {
    for (uint64_t step = 1;; ++step) {
      MemoryDisk memory;
      FaultDisk disk(memory);
      disk.SetFault({step, Fault::Kind::kFailFromOn});
      {
        TestServer server;
        if (server.Start(disk, "/d")) break;
      }
      memory.LosePower(unsynced);
      TestServer restarted;
      ASSERT_TRUE(Ok(restarted.Start(memory, "/d"))) << "step " << step;
      EXPECT_TRUE(restarted.contents().empty());
    }
  }
}

// Starts with damaged files set aside, until power is lost at this step of the disk. Returns whether the start finished
// before.
bool LosePowerDuringQuarantine(Scene& scene, uint64_t step) {
  scene.disk.SetFault({step, Fault::Kind::kFailFromOn});
  bool finished;
  {
    TestServer server;
    finished = server.Start(scene.disk, "/d", OnCorruptFilter::kQuarantine).has_value();
  }
  scene.disk.SetFault({});
  scene.memory.LosePower(MemoryDisk::UnsyncedNames::kLost);
  return finished;
}

// Quarantining moves files and replaces the manifest: wherever that is interrupted, the next start does the rest.
TEST(SnapshotFaults, LosingPowerDuringQuarantineLosesNothingMore) {
  for (const char* victim : {"/d/filters/2.filter", "/d/MANIFEST"}) {
    for (uint64_t step = 1;; ++step) {
      SCOPED_TRACE(std::string(victim) + " damaged, step " + std::to_string(step));
      Scene scene(kFiles);
      scene.CrashServer();
      std::string bytes = scene.memory.Get(victim);
      bytes[bytes.size() / 2] ^= 1;
      scene.memory.Put(victim, bytes);
      const bool finished = LosePowerDuringQuarantine(scene, step);
      TestServer restarted;
      ASSERT_TRUE(Ok(restarted.Start(scene.memory, "/d", OnCorruptFilter::kQuarantine)));
      Contents expected = scene.before;
      if (std::string(victim) == "/d/MANIFEST") {
        expected.clear();
      } else {
        expected.erase("removed");
      }
      EXPECT_EQ(restarted.contents(), expected);
      bool kept = false;  // the damaged bytes are still there for inspection
      for (const auto& [path, content] : scene.memory.All())
        kept |= path.starts_with("/d/quarantine/") && content == bytes;
      EXPECT_TRUE(kept);
      if (finished) break;
    }
  }
}

// A record of a pack: the others stay where they are, and a copy of the file goes to quarantine.
TEST(SnapshotFaults, LosingPowerDuringQuarantineOfARecordLosesNothingMore) {
  for (uint64_t step = 1;; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Scene scene(kPacks);
    scene.CrashServer();
    const std::string path = "/d/filters/1.filter";
    std::string bytes = scene.memory.Get(path);
    bytes.back() ^= 1;
    scene.memory.Put(path, bytes);
    const bool finished = LosePowerDuringQuarantine(scene, step);
    TestServer restarted;
    ASSERT_TRUE(Ok(restarted.Start(scene.memory, "/d", OnCorruptFilter::kQuarantine)));
    const Contents found = restarted.contents();  // without the name whose record was the last one
    EXPECT_EQ(found.size() + 1, scene.before.size());
    for (const auto& [name, content] : found) EXPECT_EQ(scene.before.at(name), content) << name;
    EXPECT_EQ(scene.memory.Get("/d/quarantine/1.filter"), bytes) << "still there for inspection";
    if (finished) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, SnapshotFaultsTest, testing::Values(kFiles, kPacks),
                         [](const auto& tested) { return tested.param == kFiles ? "Files" : "Packs"; });

}  // namespace
}  // namespace bitsieve::server
