// For any deleted or damaged files of a data directory and any options: nothing is lost without the option that gives
// it up, a refused start changes nothing, and with both options a start always succeeds. And a healthy directory is
// never refused after a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/log/log_current.h"
#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;

struct Decision {
  OnCorruptFilter filter;
  OnCorruptLog log;
};
constexpr Decision kRefuseAll{OnCorruptFilter::kRefuse, OnCorruptLog::kRefuse};
constexpr Decision kAcceptAll{OnCorruptFilter::kQuarantine, OnCorruptLog::kTruncate};
constexpr Decision kDecisions[] = {kRefuseAll,
                                   {OnCorruptFilter::kQuarantine, OnCorruptLog::kRefuse},
                                   {OnCorruptFilter::kRefuse, OnCorruptLog::kTruncate},
                                   kAcceptAll};

TestServer::Settings SettingsOf(const Decision& decision, uint64_t max_packed_bytes = 0) {
  return {.on_corrupt_filter = decision.filter,
          .on_corrupt_log = decision.log,
          .chunk_bytes = 256,
          .max_packed_bytes = max_packed_bytes,
          .threads = 1,
          .log = FsyncPolicy::kAlways};
}

bool IsOfLog(const std::string& path) { return path.starts_with("/d/log/"); }

// A snapshot of two filters; a log of two segments that changes them, makes a third, and brings one in a file.
class DamageTest : public testing::Test {
 protected:
  void SetUp() override { Fill(0); }
  // Fills the disk. Filters larger than `max_packed_bytes` have a file of their own.
  void Fill(uint64_t max_packed_bytes) {
    TestServer server;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d", SettingsOf(kRefuseAll, max_packed_bytes))));
    Registry& registry = server.keyspace.registry;
    const FilterPtr a = server.keyspace.Make("a");
    AddItems(*a, "saved", 20);
    AddItems(*server.keyspace.Make("b", 50, core::kCountingType), "saved", 20);
    ASSERT_TRUE(Ok(server.writer->Save()));
    AddItems(*a, "first segment", 5);
    AddItems(*server.keyspace.Make("c", 50, core::kCuckooType), "first segment", 5);
    // Too large to be part of a record.
    const FilterPtr large = server.keyspace.Make("large", 240'000);
    AddItems(*large, "first segment", 5);
    const FilterPtr copy = core::CloneFilter(*large, server.keyspace.memory, core::SystemClock()).value();
    {
      const auto prepared = registry.Prepare(copy);
      ASSERT_TRUE(prepared.has_value());
      registry.InsertIfAbsent("copy", copy);
    }
    registry.Remove("large");
    server.AwaitLog();
    server.log->appended().BeginSegment();
    for (int i = 0; i < 5; ++i) {
      AddItem(*a, "second segment" + std::to_string(i));
      server.AwaitLog();
    }
    contents_ = server.contents();
    server.Stop();
    for (const auto& [path, bytes] : disk_.All()) paths_.push_back(path);
    ASSERT_EQ(std::count_if(paths_.begin(), paths_.end(), [](const auto& path) { return path.ends_with(".log"); }), 2);
    first_segment_ = *std::find_if(paths_.begin(), paths_.end(), IsOfLog);
    ASSERT_EQ(paths_.size(), max_packed_bytes == 0 ? 7u : 6u)
        << "MANIFEST, two filters or a pack of both, two segments, CURRENT, and a content of the log";
  }

  struct Outcome {
    core::Status status;
    Contents contents;
    bool torn = false;
  };
  // Starts on `disk` and returns what is checked afterwards.
  static Outcome StartOn(MemoryDisk& disk, const Decision& decision) {
    TestServer server;
    Outcome outcome{server.Start(disk, "/d", SettingsOf(decision)), {}};
    if (!outcome.status) return outcome;
    outcome.contents = server.contents();
    outcome.torn = server.report.log.torn.has_value();
    EXPECT_TRUE(Ok(server.writer->Save()));
    return outcome;
  }

  // Checks what must hold after any damage. `may_tear`: the damage may look like the end that a crash leaves.
  void ExpectNothingIsLostInSilence(const MemoryDisk& damaged, bool filters, bool log, bool may_tear = false) {
    for (const Decision& decision : kDecisions) {
      SCOPED_TRACE(std::string(decision.filter == OnCorruptFilter::kRefuse ? "refuse" : "quarantine") + ", " +
                   (decision.log == OnCorruptLog::kRefuse ? "refuse" : "truncate"));
      MemoryDisk disk = damaged.Copy();
      const auto before = disk.All();
      const Outcome outcome = StartOn(disk, decision);
      const bool allowed = (!filters || decision.filter == OnCorruptFilter::kQuarantine) &&
                           (!log || decision.log == OnCorruptLog::kTruncate);
      if (!outcome.status) {
        EXPECT_EQ(outcome.status.error().code, core::ErrorCode::kCorrupt) << outcome.status.error().message;
        EXPECT_TRUE(disk.All() == before) << "a refused start changes nothing";
        EXPECT_FALSE(allowed) << outcome.status.error().message;
        ExpectBothOptionsAreNamed(outcome.status.error().message);
        continue;
      }
      EXPECT_TRUE(allowed || outcome.contents == contents_ || (may_tear && outcome.torn));
      const Outcome again = StartOn(disk, kRefuseAll);
      ASSERT_TRUE(Ok(again.status)) << "what was given up is not missed any more";
      EXPECT_TRUE(again.contents == outcome.contents);
    }
  }

  // Expects that a refused start names at least one of the two options that would help.
  static void ExpectBothOptionsAreNamed(const std::string& message) {
    EXPECT_TRUE(message.find("on-corrupt-filter quarantine ") != std::string::npos ||
                message.find("on-corrupt-log truncate ") != std::string::npos)
        << message;
  }

  static void Flip(MemoryDisk& disk, const std::string& path, size_t offset) {
    std::string bytes = disk.Get(path);
    bytes.at(offset) ^= 0x40;
    disk.Put(path, bytes);
  }
  std::string Newest() const { return "/d/log/" + LogFileName(ReadLogCurrent(disk_, "/d/log").value()); }

  MemoryDisk disk_;
  Contents contents_;
  std::vector<std::string> paths_;
  std::string first_segment_;
};

class EitherLayoutDamageTest : public DamageTest, public testing::WithParamInterface<uint64_t> {
 protected:
  void SetUp() override { Fill(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Layouts, EitherLayoutDamageTest, testing::Values(0, kMaxPackedBytes),
                         [](const auto& tested) { return tested.param == 0 ? "Files" : "Packs"; });

TEST_P(EitherLayoutDamageTest, AHealthyDirectoryLoads) {
  for (const Decision& decision : kDecisions) {
    MemoryDisk disk = disk_.Copy();
    EXPECT_TRUE(StartOn(disk, decision).contents == contents_);
  }
}

TEST_P(EitherLayoutDamageTest, EachDeletedFileIsMissed) {
  for (const std::string& path : paths_) {
    SCOPED_TRACE(path);
    MemoryDisk disk = disk_.Copy();
    ASSERT_TRUE(disk.Remove(path));
    const auto before = disk.All();
    const Outcome refused = StartOn(disk, kRefuseAll);
    EXPECT_FALSE(refused.status) << "its loss went unnoticed";
    const bool is_manifest = path == "/d/MANIFEST";
    ExpectNothingIsLostInSilence(disk, !IsOfLog(path), IsOfLog(path) || is_manifest);
  }
}

TEST_F(DamageTest, EachSetOfDeletedFilesIsMissed) {
  for (unsigned set = 1; set < (1U << paths_.size()) - 1; ++set) {
    MemoryDisk disk = disk_.Copy();
    std::string deleted;
    for (size_t i = 0; i < paths_.size(); ++i) {
      if ((set & (1U << i)) == 0) continue;
      ASSERT_TRUE(disk.Remove(paths_[i]));
      deleted += paths_[i] + " ";
    }
    SCOPED_TRACE(deleted);
    const auto left = disk.All();
    const auto is_gone = [&](const std::string& path) { return !left.contains(path); };
    // A file that a lost segment named is lost with it; without a manifest, only files that are left can be given up.
    const bool manifest = is_gone("/d/MANIFEST");
    const bool filters = manifest || is_gone("/d/filters/1.filter") || is_gone("/d/filters/2.filter") ||
                         (is_gone("/d/filters/3.filter") && !is_gone(first_segment_));
    const auto in_log = std::count_if(left.begin(), left.end(), [](const auto& file) { return IsOfLog(file.first); });
    const bool log = manifest ? in_log != 0 : in_log != 3;
    EXPECT_FALSE(StartOn(disk, kRefuseAll).status) << "the loss went unnoticed";
    ExpectNothingIsLostInSilence(disk, filters, log);
  }
}

TEST_P(EitherLayoutDamageTest, AnyChangedByteIsFound) {
  for (const std::string& path : paths_) {
    const size_t size = disk_.Get(path).size();
    const size_t stride = std::max<size_t>(1, size / 12);
    for (size_t offset = 0; offset < size; offset += stride) {
      SCOPED_TRACE(path + " at " + std::to_string(offset));
      MemoryDisk disk = disk_.Copy();
      Flip(disk, path, offset);
      ExpectNothingIsLostInSilence(disk, !IsOfLog(path), IsOfLog(path) || path == "/d/MANIFEST", path == Newest());
    }
  }
}

TEST_P(EitherLayoutDamageTest, AnyOtherLengthIsFound) {
  for (const std::string& path : paths_) {
    const std::string whole = disk_.Get(path);
    for (const size_t length : {size_t{0}, size_t{20}, whole.size() / 2, whole.size() - 1}) {
      SCOPED_TRACE(path + " cut to " + std::to_string(length));
      MemoryDisk disk = disk_.Copy();
      disk.Put(path, whole.substr(0, length));
      const bool has_head = length >= kLogHeadBytes;
      ExpectNothingIsLostInSilence(disk, !IsOfLog(path), IsOfLog(path) || path == "/d/MANIFEST",
                                   path == Newest() && has_head);
    }
  }
}

// Tests every set of damaged files, with every decision. A refusal names each option that would help, so that no second
// start is needed to learn of the second.
TEST_F(DamageTest, AnyDamageTogetherIsNamedTogether) {
  for (unsigned set = 1; set < 1U << paths_.size(); ++set) {
    MemoryDisk disk = disk_.Copy();
    std::string damaged;
    for (size_t i = 0; i < paths_.size(); ++i) {
      if ((set & (1U << i)) == 0) continue;
      // In a segment, the first frame is damaged, so that there are others after it.
      const bool is_segment = paths_[i].ends_with(".log");
      Flip(disk, paths_[i], is_segment ? kLogHeadBytes + 40 : disk.Get(paths_[i]).size() / 2);
      damaged += paths_[i] + " ";
    }
    const auto is_damaged = [&](const std::string& path) { return damaged.find(path) != std::string::npos; };
    // A file that a damaged segment names is lost with it; with a damaged manifest, everything is.
    const bool filters = is_damaged("/d/MANIFEST") || is_damaged("/d/filters/1.filter") ||
                         is_damaged("/d/filters/2.filter") ||
                         (is_damaged("/d/filters/3.filter") && !is_damaged(first_segment_));
    const bool log = is_damaged("/d/MANIFEST") || damaged.find("/d/log/") != std::string::npos;
    SCOPED_TRACE(damaged);
    const core::Status refused = StartOn(disk, kRefuseAll).status;
    ASSERT_FALSE(refused);
    const std::string& message = refused.error().message;
    EXPECT_EQ(message.find("on-corrupt-filter quarantine ") != std::string::npos, filters) << message;
    EXPECT_EQ(message.find("on-corrupt-log truncate ") != std::string::npos, log) << message;
    ExpectNothingIsLostInSilence(disk, filters, log);
  }
}

TEST_P(EitherLayoutDamageTest, ALogThatIsGoneLeavesTheSnapshot) {
  MemoryDisk disk = disk_.Copy();
  for (const std::string& path : paths_) {
    if (!IsOfLog(path)) continue;
    ASSERT_TRUE(disk.Remove(path));
  }
  EXPECT_THAT(StartOn(disk, kRefuseAll).status.error().message, HasSubstr("/d/log/CURRENT: is missing"));
  const Contents left = StartOn(disk, {OnCorruptFilter::kRefuse, OnCorruptLog::kTruncate}).contents;
  EXPECT_EQ(left.size(), 2u) << "a and b, as they were saved";
}

// ---- crashes

// Does all that a server does in its life, up to the step at which the power fails; or all of it.
void Live(FaultDisk& disk, Decision decision, uint64_t max_packed_bytes) {
  TestServer server;
  TestServer::Settings settings = SettingsOf(decision, max_packed_bytes);
  settings.log = FsyncPolicy::kNever;
  if (!server.Start(disk, "/d", settings)) return;
  FilterPtr filter = server.keyspace.registry.Find("f");
  if (filter == nullptr) filter = server.keyspace.Make("f");
  AddItems(*filter, "x", 3);
  (void)server.writer->Save();
  AddItems(*filter, "y", 3);
  server.log->appended().BeginSegment();
  AddItems(*filter, "z", 3);
}

class CrashesTest : public testing::TestWithParam<uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Layouts, CrashesTest, testing::Values(0, kMaxPackedBytes),
                         [](const auto& tested) { return tested.param == 0 ? "Files" : "Packs"; });

TEST_P(CrashesTest, AHealthyDirectoryIsNeverRefused) {
  for (const auto unsynced : {MemoryDisk::UnsyncedNames::kLost, MemoryDisk::UnsyncedNames::kKept}) {
    for (int lives = 1; lives <= 2; ++lives) {
      for (uint64_t step = 1;; ++step) {
        SCOPED_TRACE("life " + std::to_string(lives) + ", step " + std::to_string(step));
        MemoryDisk memory;
        FaultDisk disk(memory);
        for (int life = 1; life < lives; ++life) Live(disk, kRefuseAll, GetParam());
        disk.SetFault({step, Fault::Kind::kFailFromOn});
        Live(disk, kRefuseAll, GetParam());
        const bool complete = disk.steps() < step;
        memory.LosePower(unsynced);
        for (const bool with_log : {true, false}) {
          MemoryDisk copy = memory.Copy();
          TestServer server;
          TestServer::Settings settings = SettingsOf(kRefuseAll);
          if (!with_log) settings.log.reset();
          ASSERT_TRUE(Ok(server.Start(copy, "/d", settings)));
          ASSERT_TRUE(Ok(server.writer->Save()));
          server.Stop();
          TestServer again;
          ASSERT_TRUE(Ok(again.Start(copy, "/d", SettingsOf(kRefuseAll))));
        }
        if (complete) break;
      }
    }
  }
}

// Giving up what is damaged moves files and begins a segment: wherever that ends, the next start does the rest.
TEST_P(EitherLayoutDamageTest, LosingPowerWhileDamageIsGivenUpLosesNothingMore) {
  for (const std::vector<std::string>& victims :
       {std::vector<std::string>{Newest()}, {"/d/MANIFEST"}, {"/d/filters/1.filter", Newest()}, {"/d/log/CURRENT"}}) {
    MemoryDisk damaged = disk_.Copy();
    for (const std::string& path : victims) {
      ASSERT_TRUE(damaged.Remove(path));
      ASSERT_TRUE(damaged.SyncDirectory(path.substr(0, path.rfind('/'))));
    }
    MemoryDisk undisturbed = damaged.Copy();
    const Contents expected = StartOn(undisturbed, kAcceptAll).contents;
    for (uint64_t step = 1;; ++step) {
      SCOPED_TRACE(victims.back() + ", step " + std::to_string(step));
      MemoryDisk memory = damaged.Copy();
      FaultDisk disk(memory);
      disk.SetFault({step, Fault::Kind::kFailFromOn});
      bool complete;
      {
        TestServer server;
        complete = server.Start(disk, "/d", SettingsOf(kAcceptAll)).has_value();
      }
      memory.LosePower(MemoryDisk::UnsyncedNames::kLost);
      const Outcome outcome = StartOn(memory, kAcceptAll);
      ASSERT_TRUE(Ok(outcome.status));
      EXPECT_TRUE(outcome.contents == expected);
      if (complete) break;
    }
  }
}

}  // namespace
}  // namespace bitsieve::server
