// Whatever a server with a log did, one that starts from its disk has the same names and filters, byte by byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "core/filters/filter_factory.h"
#include "core/filters/filter_union.h"
#include "core/filters/ribbon_staging.h"
#include "server/persistence/log_content.h"
#include "server/persistence/log_reader.h"
#include "server/persistence/snapshotter.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr core::FilterKind kKinds[] = {
    core::FilterKind::kClassic,    core::FilterKind::kBlocked,     core::FilterKind::kCounting,
    core::FilterKind::kCuckoo,     core::FilterKind::kRedisCuckoo, core::FilterKind::kWindow,
    core::FilterKind::kRedisBloom, core::FilterKind::kFingerprint, core::FilterKind::kRibbon};

void RemoveItem(core::Filter& filter, const std::string& item) {
  const core::KeyHash hash = filter.HashOf(item);
  uint8_t removed;
  filter.Remove(std::span(&hash, 1), std::span(&removed, 1));
}

class LogRecoveryTest : public testing::Test {
 protected:
  void SetUp() override { Begin(); }
  void Begin(FsyncPolicy policy = FsyncPolicy::kAlways) {
    server_ = std::make_unique<TestServer>();
    ASSERT_TRUE(Ok(server_->Start(disk_, "/d", {.chunk_bytes = 4096, .log = policy})));
  }
  // Filters that the test holds must not outlive it: it is kept.
  void End() {
    server_->Stop();
    ended_.push_back(std::move(server_));
  }
  // What a start that must not succeed says.
  core::Error StartError() {
    TestServer refused;
    const core::Status status = refused.Start(disk_, "/d");
    EXPECT_FALSE(status.has_value());
    return status ? core::Error() : status.error();
  }
  Registry& registry() { return server_->keyspace.registry; }
  static constexpr uint64_t kLarge = 400'000;  // items of a filter whose content the log has in a file
  FilterPtr Make(const std::string& name, core::FilterKind kind = core::FilterKind::kBlocked) {
    return server_->keyspace.Make(name, 50, kind);
  }
  void InsertPrepared(const std::string& name, FilterPtr filter) {
    const auto prepared = registry().Prepare(filter);
    ASSERT_TRUE(Ok(prepared));
    EXPECT_EQ(registry().InsertIfAbsent(name, filter), filter);
  }
  void Save() { ASSERT_TRUE(Ok(server_->writer->Save())); }
  // What a server finds after a power failure, all that was done being durable.
  Contents Recovered() {
    server_->AwaitLog();
    MemoryDisk copy = disk_.Copy();
    copy.LosePower(MemoryDisk::UnsyncedNames::kLost);
    TestServer other;
    other.keyspace.now_ms = server_->keyspace.now_ms.load();
    EXPECT_TRUE(Ok(other.Start(copy, "/d")));
    EXPECT_FALSE(other.report.log.torn.has_value());
    return other.contents();
  }
  void ExpectSame() { EXPECT_EQ(Recovered(), server_->contents()); }
  std::string LogPath() const { return ListLog(disk_, "/d/log")->front().path; }

  MemoryDisk disk_;
  std::vector<std::unique_ptr<TestServer>> ended_;
  std::unique_ptr<TestServer> server_;
};

TEST_F(LogRecoveryTest, EveryKindComesBackAsItWasWithoutASnapshot) {
  for (const core::FilterKind kind : kKinds) {
    const FilterPtr filter = Make(std::string(core::FilterKindName(kind)), kind);
    AddItems(*filter, "i", 40);
    AddItems(*filter, "i", 10);
    if (filter->capabilities().remove) RemoveItem(*filter, "i3");
  }
  ExpectSame();
}

TEST_F(LogRecoveryTest, FiltersThatGrewComeBack) {
  for (const core::FilterKind kind : kKinds) {
    if (kind == core::FilterKind::kWindow) continue;
    AddItems(*Make(std::string(core::FilterKindName(kind)), kind), "i", 700);
  }
  ExpectSame();
}

TEST_F(LogRecoveryTest, SnapshotAndLogGiveEachChangeOnce) {
  for (const core::FilterKind kind : kKinds) {
    const FilterPtr filter = Make(std::string(core::FilterKindName(kind)), kind);
    AddItems(*filter, "before", 30);
    Save();
    ExpectSame();
    AddItems(*filter, "after", 30);
    if (filter->capabilities().remove) RemoveItem(*filter, "before3");
    ExpectSame();
  }
}

TEST_F(LogRecoveryTest, NamesComeBack) {
  Make("a");
  Make("b");
  Make("c");
  registry().Rename("a", "d", false);
  registry().Rename("b", "c", false);
  Make("a");
  registry().Remove("c");
  ExpectSame();
  Save();
  registry().Rename("d", "e", false);
  registry().Put("a", Make("x"), 0);
  ExpectSame();
  registry().Flush(false);
  ExpectSame();
  Make("last");
  ExpectSame();
}

TEST_F(LogRecoveryTest, ExpiriesComeBack) {
  const int64_t now = registry().NowMs();
  Make("a");
  Make("b");
  Make("c");
  registry().SetExpiry("a", now + 1000, 0);
  registry().SetExpiry("b", now + 1000, 0);
  registry().SetExpiry("c", now + 9000, 0);
  registry().SetExpiry("b", 0, 0);
  ExpectSame();
  server_->keyspace.now_ms += 2000;
  ExpectSame();
  EXPECT_EQ(registry().Find("a"), nullptr);
  Make("a");
  ExpectSame();
  registry().SetExpiry("c", 1, 0);
  ExpectSame();
}

// A snapshot taken before a name's expiry is lifted does not make it end.
TEST_F(LogRecoveryTest, AnExpiryThatWasLiftedAfterTheSnapshotIsLifted) {
  AddItems(*Make("a"), "i", 5);
  registry().SetExpiry("a", registry().NowMs() + 1000, 0);
  Save();
  registry().SetExpiry("a", 0, 0);
  server_->keyspace.now_ms += 2000;
  EXPECT_EQ(Recovered().size(), 1u);
}

TEST_F(LogRecoveryTest, ContentsThatWereBroughtComeBack) {
  const FilterPtr a = Make("a");
  AddItems(*a, "i", 20);
  FilterPtr copy = core::CloneFilter(*a, server_->keyspace.memory).value();
  AddItems(*copy, "j", 5);
  registry().InsertIfAbsent("copy", copy);
  AddItems(*copy, "k", 5);
  ExpectSame();
  const FilterPtr target = Make("target");
  AddItems(*target, "l", 5);
  const core::Filter* const sources[] = {copy.get()};
  ASSERT_TRUE(Ok(core::UniteInto(*target, sources)));
  ASSERT_TRUE(Ok(registry().NoteRewritten(target)));
  AddItems(*target, "m", 5);
  ExpectSame();
  Save();
  AddItems(*target, "n", 5);
  ExpectSame();
  AddItems(*copy, "n", 5);
  ASSERT_TRUE(Ok(registry().NoteRewritten(copy)));
  registry().Remove("target");
  ExpectSame();
}

TEST_F(LogRecoveryTest, LargeContentsAreFilesAndSmallOnesAreNot) {
  for (const core::FilterKind kind : kKinds) {
    const std::string name(core::FilterKindName(kind));
    const FilterPtr filter = Make(name, kind);
    AddItems(*filter, "i", 20);
    InsertPrepared(name + " copy", core::CloneFilter(*filter, server_->keyspace.memory).value());
    AddItems(*registry().Find(name + " copy"), "j", 5);
  }
  EXPECT_THAT(*disk_.List("/d/filters"), IsEmpty());
  const FilterPtr large = server_->keyspace.Make("large", kLarge);
  AddItems(*large, "i", 20);
  InsertPrepared("large copy", core::CloneFilter(*large, server_->keyspace.memory).value());
  AddItems(*registry().Find("large copy"), "j", 5);
  EXPECT_EQ(disk_.List("/d/filters")->size(), 1u);
  ExpectSame();
}

TEST_F(LogRecoveryTest, AFileThatNobodyCameToNeedIsRemoved) {
  const FilterPtr large = server_->keyspace.Make("large", kLarge);
  AddItems(*large, "i", 20);
  const FilterPtr copy = core::CloneFilter(*large, server_->keyspace.memory).value();
  {
    const auto prepared = registry().Prepare(copy);
    ASSERT_TRUE(Ok(prepared));
    EXPECT_EQ(disk_.List("/d/filters")->size(), 1u);
    EXPECT_EQ(registry().InsertIfAbsent("large", copy), large);
  }
  EXPECT_THAT(*disk_.List("/d/filters"), IsEmpty());
}

// While others add to it: the file is older than the log where it is named.
TEST_F(LogRecoveryTest, WhatIsAddedWhileALargeFilterIsRewrittenIsThere) {
  for (const core::FilterKind kind : {core::FilterKind::kBlocked, core::FilterKind::kCounting}) {
    const std::string name(core::FilterKindName(kind));
    const FilterPtr source = server_->keyspace.Make(name + " source", kLarge, kind);
    AddItems(*source, "s", 1000);
    const FilterPtr target = server_->keyspace.Make(name, kLarge, kind);
    std::atomic<bool> stop{false};
    std::jthread writer([&] {
      for (int i = 0; !stop.load(); ++i) {
        AddItem(*target, "t" + std::to_string(i % 5000));
        if (kind == core::FilterKind::kCounting && i % 3 == 0) RemoveItem(*target, "t" + std::to_string(i % 5000));
      }
    });
    const core::Filter* const sources[] = {source.get()};
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(Ok(core::UniteInto(*target, sources)));
      ASSERT_TRUE(Ok(registry().NoteRewritten(target)));
      if (i == 1) Save();
    }
    stop = true;
    writer.join();
    ExpectSame();
  }
}

// Its file may take long: a crash before it is durable leaves the filter without the rewriting, and with all else.
TEST_F(LogRecoveryTest, AnOutcomeThatNeverComesLeavesTheFilterAsItWasMeanwhile) {
  const FilterPtr target = Make("target");
  AddItems(*target, "before", 10);
  const FilterPtr source = Make("source");
  AddItems(*source, "new", 10);
  const core::Filter* const sources[] = {source.get()};
  ASSERT_TRUE(Ok(core::UniteInto(*target, sources)));
  (void)target->CaptureRewritten(server_->image_pool);
  AddItems(*target, "after", 10);
  AddItems(*target, "new", 5);  // is there by now, and acknowledged as such
  Recovered();
  End();
  Begin();
  const FilterPtr again = registry().Find("target");
  for (const std::string item : {"before0", "before9", "after0", "after9", "new0", "new4"}) {
    EXPECT_TRUE(HasItem(*again, item)) << item;
  }
  EXPECT_FALSE(HasItem(*again, "new9"));
  AddItems(*again, "later", 5);
  ExpectSame();
}

TEST_F(LogRecoveryTest, AnOutcomeThatComesOutOfOrderCountsOnce) {
  const FilterPtr target = Make("target", core::FilterKind::kCounting);
  const FilterPtr source = Make("source", core::FilterKind::kCounting);
  AddItems(*source, "s", 5);
  const core::Filter* const sources[] = {source.get()};
  ContentWriter contents(*server_->directory, *server_->file_ids);
  std::vector<log::Record> outcomes;
  for (int i = 0; i < 3; ++i) {
    AddItems(*target, "t" + std::to_string(i), 5);
    ASSERT_TRUE(Ok(core::UniteInto(*target, sources)));
    outcomes.push_back(contents.Write(*target->CaptureRewritten(server_->image_pool)).value());
    std::get<log::Content>(outcomes.back()).id = target->id();
  }
  AddItems(*target, "last", 5);
  for (const int i : {1, 0, 2}) {
    server_->log->Append(outcomes[i]);
    AddItems(*target, "and" + std::to_string(i), 5);
    EXPECT_EQ(Recovered().size(), 2u);
  }
  ExpectSame();
}

TEST_F(LogRecoveryTest, ContentsInTheLogThatMakeNoSenseAreDamage) {
  const FilterPtr filter = Make("f");
  AddItems(*filter, "i", 5);
  server_->log->Append(log::Content{.id = filter->id(), .sequence = 9, .header = "no header", .body = "x"});
  server_->AwaitLog();
  End();
  EXPECT_THAT(StartError().message, HasSubstr("cannot be read"));
}

TEST_F(LogRecoveryTest, RestartsGoOnWithTheLog) {
  for (int round = 0; round < 4; ++round) {
    const FilterPtr filter = Make("f" + std::to_string(round), core::FilterKind::kCounting);
    AddItems(*filter, "i", 10 + round);
    AddItems(*registry().Find("f0"), "r" + std::to_string(round), 3);
    if (round == 2) Save();
    const Contents before = server_->contents();
    server_->AwaitLog();
    End();
    Begin(round % 2 == 0 ? FsyncPolicy::kEverySecond : FsyncPolicy::kNever);
    EXPECT_EQ(server_->contents(), before);
  }
}

TEST_F(LogRecoveryTest, AServerWithoutALogReadsOneAndKeepsWhatItSaves) {
  AddItems(*Make("f"), "i", 10);
  server_->AwaitLog();
  End();
  server_ = std::make_unique<TestServer>();
  ASSERT_TRUE(Ok(server_->Start(disk_, "/d")));
  AddItems(*registry().Find("f"), "j", 10);
  AddItems(*Make("g"), "j", 10);
  Save();
  const Contents saved = server_->contents();
  End();
  Begin();
  EXPECT_EQ(server_->contents(), saved);
  AddItems(*registry().Find("g"), "k", 10);
  ExpectSame();
}

TEST_F(LogRecoveryTest, AFilterThatWasClosedIsTold) {
  const FilterPtr closed = Make("f", core::FilterKind::kRibbon);
  AddItems(*closed, "i", 10);
  registry().NoteFreezing(closed);
  registry().Rename("f", "g", false);
  server_->AwaitLog();
  End();
  Begin();
  ASSERT_EQ(server_->freezing.size(), 1u);
  EXPECT_EQ(server_->freezing[0].name, "g");
  EXPECT_EQ(server_->freezing[0].filter, registry().Find("g"));
}

TEST_F(LogRecoveryTest, AFilterThatIsClosedWhenItIsSavedIsTold) {
  const FilterPtr closed = Make("f", core::FilterKind::kRibbon);
  AddItems(*closed, "i", 10);
  ASSERT_TRUE(core::RibbonStaging::Of(*closed)->Close());
  Save();
  End();
  Begin();
  ASSERT_EQ(server_->freezing.size(), 1u);
  EXPECT_EQ(server_->freezing[0].filter, registry().Find("f"));
}

TEST_F(LogRecoveryTest, WindowsOfTimeForgetByTheTimeOfTheLog) {
  core::FilterParams params;
  params.kind = core::FilterKind::kWindow;
  params.capacity = 100;
  params.expansion = 0;
  params.window.duration_ms = 3000;
  const FilterPtr filter = core::MakeFilter(params, server_->keyspace.memory).value();
  registry().InsertIfAbsent("w", filter);
  for (int i = 0; i < 30; ++i) {
    AddItem(*filter, std::to_string(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  server_->AwaitLog();
  End();
  Begin();
  // The times of its generations are in the header.
  EXPECT_EQ(BytesOf(*registry().Find("w")), BytesOf(*filter));
}

TEST_F(LogRecoveryTest, ALongLogMakesASnapshot) {
  server_->writer.reset();
  Snapshotter snapshotter(
      SnapshotParts{*server_->directory, registry(), *server_->file_ids, server_->image_pool, server_->recorder.get()},
      SavedState(), SnapshotSchedule{.max_log_bytes = 10'000});
  AddItems(*Make("f", core::FilterKind::kCounting), "i", 1000);
  const auto was_cut = [&] {
    const std::vector<LogFile> files = ListLog(disk_, "/d/log").value();
    return files.size() == 1 && files.front().start >= 10'000;
  };
  while (!was_cut()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ExpectSame();
}

// ---- torn and damaged logs

TEST_F(LogRecoveryTest, ATornEndIsCutAndTold) {
  const FilterPtr filter = Make("f");
  AddItems(*filter, "i", 10);
  server_->AwaitLog();
  const Contents before = server_->contents();
  AddItem(*filter, "last");
  server_->AwaitLog();
  End();
  const std::string path = LogPath();
  const std::string whole = disk_.Get(path);
  disk_.Put(path, whole.substr(0, whole.size() - 1));
  Begin();
  ASSERT_TRUE(server_->report.log.torn.has_value());
  EXPECT_EQ(server_->contents(), before);
  AddItems(*registry().Find("f"), "more", 5);
  ExpectSame();
}

TEST_F(LogRecoveryTest, DamageBeforeTheEndRefusesTheStartUnlessItMayBeLost) {
  const FilterPtr filter = Make("f");
  for (int i = 0; i < 10; ++i) AddItem(*filter, std::to_string(i));
  server_->AwaitLog();
  const Contents before = server_->contents();
  const size_t damaged_at = disk_.Get(LogPath()).size();
  for (int i = 10; i < 20; ++i) {
    AddItem(*filter, std::to_string(i));
    server_->AwaitLog();
  }
  End();
  std::string bytes = disk_.Get(LogPath());
  bytes[damaged_at + 50] ^= 1;
  disk_.Put(LogPath(), bytes);

  const auto files = disk_.All();
  const core::Error error = StartError();
  EXPECT_EQ(error.code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, HasSubstr(LogPath()));
  EXPECT_THAT(error.message, HasSubstr("on-corrupt-log truncate ends the log at position "));
  EXPECT_EQ(disk_.All(), files) << "a refused start changes nothing";

  server_ = std::make_unique<TestServer>();
  ASSERT_TRUE(
      Ok(server_->Start(disk_, "/d", {.on_corrupt_log = OnCorruptLog::kTruncate, .log = FsyncPolicy::kAlways})));
  ASSERT_TRUE(server_->report.log.damage.has_value());
  EXPECT_GT(server_->report.log.damage->lost_bytes, 0u);
  EXPECT_EQ(server_->contents(), before);
  AddItem(*registry().Find("f"), "more");
  ExpectSame();
  End();
  Begin();
  EXPECT_FALSE(server_->report.log.damage.has_value()) << "what was cut is not missed";
}

TEST_F(LogRecoveryTest, ADamagedContentFileRefusesTheStartOrIsSetAside) {
  AddItems(*Make("other"), "i", 10);
  const FilterPtr a = server_->keyspace.Make("a", kLarge);
  AddItems(*a, "i", 10);
  InsertPrepared("b", core::CloneFilter(*a, server_->keyspace.memory).value());
  server_->AwaitLog();
  Contents left = server_->contents();
  left.erase("b");
  End();
  std::string bytes = disk_.Get("/d/filters/1.filter");
  bytes[bytes.size() / 2] ^= 1;
  disk_.Put("/d/filters/1.filter", bytes);
  EXPECT_THAT(StartError().message, HasSubstr("1.filter"));
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine)));
  EXPECT_EQ(server.contents(), left);
  EXPECT_EQ(server.report.quarantined.size(), 1u);
}

TEST_F(LogRecoveryTest, ALostManifestIsNotAnEmptyServer) {
  AddItems(*Make("f"), "i", 10);
  server_->AwaitLog();
  End();
  ASSERT_TRUE(disk_.Remove("/d/MANIFEST"));
  EXPECT_THAT(StartError().message, HasSubstr("MANIFEST"));
  TestServer server;
  EXPECT_FALSE(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine)) << "there is a log, too";
  server.Stop();
  ASSERT_TRUE(Ok(server.Start(disk_, "/d", OnCorruptFilter::kQuarantine, OnCorruptLog::kTruncate)));
  EXPECT_THAT(server.contents(), IsEmpty());
}

// ---- a snapshot and a log while everything goes on

TEST_F(LogRecoveryTest, SavingWhileManyWriteLosesNothingAndCountsNothingTwice) {
  for (const core::FilterKind kind : kKinds) Make(std::string(core::FilterKindName(kind)), kind);
  std::atomic<bool> stop{false};
  {
    std::vector<std::jthread> writers;
    for (int w = 0; w < 2; ++w) {
      writers.emplace_back([&, w] {
        std::mt19937 random(w);
        for (int i = 0; !stop.load(); ++i) {
          const core::FilterKind kind = kKinds[random() % std::size(kKinds)];
          const std::string name(core::FilterKindName(kind));
          const FilterPtr filter = registry().Find(name);
          if (filter == nullptr) continue;
          AddItem(*filter, std::to_string(random() % 3000));
          if (filter->capabilities().remove && random() % 3 == 0) RemoveItem(*filter, std::to_string(random() % 3000));
          if (i % 500 == 0) registry().Rename(name, name + "'", false), registry().Rename(name + "'", name, false);
        }
      });
    }
    for (int i = 0; i < 20; ++i) Save();
    stop = true;
  }
  ExpectSame();
}

}  // namespace
}  // namespace bitsieve::server
