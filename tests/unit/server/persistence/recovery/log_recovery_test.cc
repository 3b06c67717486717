// Whatever a server with a log did, one that starts from its disk has the same names and filters, byte by byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "core/families/bloom/bloom_types.h"
#include "core/families/expiring/expiring_type.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/families/window/window_type.h"
#include "core/filter/filter_factory.h"
#include "core/filter/staging.h"
#include "server/persistence/snapshot/snapshotter.h"
#include "tests/support/log_recovery_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(LogRecoveryTest, EveryKindComesBackAsItWasWithoutASnapshot) {
  for (const core::FilterType kind : AllTypes()) {
    const FilterPtr filter = Make(std::string(core::FilterTypeName(kind)), kind);
    AddItems(*filter, "i", 40);
    AddItems(*filter, "i", 10);
    if (filter->capabilities().remove) RemoveItem(*filter, "i3");
  }
  ExpectSame();
}

TEST_F(LogRecoveryTest, FiltersThatGrewComeBack) {
  for (const core::FilterType kind : AllTypes()) {
    if (!core::FindFilterType(kind)->can.grow) continue;
    AddItems(*Make(std::string(core::FilterTypeName(kind)), kind), "i", 700);
  }
  ExpectSame();
}

TEST_F(LogRecoveryTest, SnapshotAndLogGiveEachChangeOnce) {
  for (const core::FilterType kind : AllTypes()) {
    const FilterPtr filter = Make(std::string(core::FilterTypeName(kind)), kind);
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
  const int64_t now = registry().WallMs();
  Make("a");
  Make("b");
  Make("c");
  registry().SetExpiry("a", now + 1000, 0);
  registry().SetExpiry("b", now + 1000, 0);
  registry().SetExpiry("c", now + 9000, 0);
  registry().SetExpiry("b", 0, 0);
  ExpectSame();
  server_->keyspace.clock.now_ms += 2000;
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
  registry().SetExpiry("a", registry().WallMs() + 1000, 0);
  Save();
  registry().SetExpiry("a", 0, 0);
  server_->keyspace.clock.now_ms += 2000;
  EXPECT_EQ(Recovered().size(), 1u);
}

TEST_F(LogRecoveryTest, RestartsGoOnWithTheLog) {
  for (int round = 0; round < 4; ++round) {
    const FilterPtr filter = Make("f" + std::to_string(round), core::kCountingType);
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
  const FilterPtr closed = Make("f", core::kRibbonType);
  AddItems(*closed, "i", 10);
  registry().LogFreezing(closed);
  registry().Rename("f", "g", false);
  server_->AwaitLog();
  End();
  Begin();
  ASSERT_EQ(server_->freezing.size(), 1u);
  EXPECT_EQ(server_->freezing[0].name, "g");
  EXPECT_EQ(server_->freezing[0].filter, registry().Find("g"));
}

TEST_F(LogRecoveryTest, AFilterThatIsClosedWhenItIsSavedIsTold) {
  const FilterPtr closed = Make("f", core::kRibbonType);
  AddItems(*closed, "i", 10);
  ASSERT_TRUE(closed->staging()->Close());
  Save();
  End();
  Begin();
  ASSERT_EQ(server_->freezing.size(), 1u);
  EXPECT_EQ(server_->freezing[0].filter, registry().Find("f"));
}

TEST_F(LogRecoveryTest, WindowsOfTimeForgetByTheTimeOfTheLog) {
  core::FilterParams params;
  params.type = core::kWindowType;
  params.capacity = 100;
  params.expansion = 0;
  core::SetWindow(params, {.duration_ms = 3000});
  const FilterPtr filter = core::MakeFilter(params, server_->keyspace.memory, core::SystemClock()).value();
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

// Each change is made again at its own time, whatever time it is when the log is read.
TEST_F(LogRecoveryTest, ItemsThatExpireKeepTheirTimes) {
  test::ManualClock clock;
  core::FilterParams params{.type = core::kExpiringType, .capacity = 100};
  core::SetTtlMs(params, 14'000);
  const FilterPtr filter = core::MakeFilter(params, server_->keyspace.memory, clock).value();
  registry().InsertIfAbsent("e", filter);
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i, clock.now_ms += random() % 100) {
    const core::KeyHash hash = filter->HashOf(std::to_string(random() % 300));
    uint8_t done = 0;
    core::AddOutcome outcome{};
    if (random() % 8 == 0) {
      filter->Remove({&hash, 1}, {&done, 1});
    } else if (random() % 8 == 0) {
      filter->Touch({&hash, 1}, {&done, 1});
    } else {
      filter->Add({&hash, 1}, {&outcome, 1}, {.ttl_ms = 1 + random() % 14'000});
    }
    if (i == 1000) Save();
  }
  server_->AwaitLog();
  End();
  Begin();
  EXPECT_EQ(BytesOf(*registry().Find("e")), BytesOf(*filter));
}

TEST_F(LogRecoveryTest, ALongLogMakesASnapshot) {
  server_->writer.reset();
  Snapshotter snapshotter(SnapshotParts{*server_->directory, registry(), *server_->file_ids, server_->image_pool,
                                        core::SystemClock(), server_->recorder.get()},
                          SavedState(), SnapshotSchedule{.max_log_bytes = 10'000});
  AddItems(*Make("f", core::kCountingType), "i", 1000);
  const auto was_cut = [&] {
    const std::vector<LogFile> files = ListLog(disk_, "/d/log").value();
    return files.size() == 1 && files.front().start >= 10'000;
  };
  while (!was_cut()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ExpectSame();
}

// ---- large filters that stay in the log

constexpr uint32_t kGrowth = 50;  // percent

class LargeFilterTest : public LogRecoveryTest {
 protected:
  // With a file of its own, and some changes in the log since then.
  FilterPtr MakeSaved(const std::string& name = "large") {
    const FilterPtr filter = server_->keyspace.Make(name, 20'000);
    AddItems(*filter, "saved", 100);
    Save();
    AddItems(*filter, "logged", 100);
    return filter;
  }
  SaveReport SaveWhatGrew() {
    const auto report = server_->writer->Save(kGrowth);
    EXPECT_TRUE(Ok(report));
    return report.value_or(SaveReport{});
  }
};

TEST_F(LargeFilterTest, StaysInTheLogUntilThatIsLong) {
  const FilterPtr filter = MakeSaved();
  SaveReport report = SaveWhatGrew();
  EXPECT_EQ(report.filters_written, 0u);
  EXPECT_EQ(report.filters_in_log, 1u);
  ExpectSame();
  AddItems(*registry().Find("large"), "many", 1000);
  report = SaveWhatGrew();
  EXPECT_EQ(report.filters_written, 1u);
  EXPECT_EQ(report.filters_in_log, 0u);
  ExpectSame();
}

TEST_F(LargeFilterTest, SaveWritesIt) {
  MakeSaved();
  SaveWhatGrew();
  EXPECT_EQ(server_->writer->Save()->filters_written, 1u);
  EXPECT_EQ(server_->writer->LogBytes(), 0u);
  ExpectSame();
}

// The names of the snapshot are later than the oldest part of the log.
TEST_F(LargeFilterTest, WhatHappenedToNamesBeforeTheSnapshotDoesNotHappenAgain) {
  const FilterPtr filter = MakeSaved();
  Make("gone");
  Make("old name");
  registry().Remove("gone");
  registry().Rename("old name", "new name", false);
  registry().SetExpiry("large", server_->keyspace.clock.now_ms + 100'000, 0);
  const FilterPtr small = Make("small");
  AddItems(*small, "x", 5);
  SaveWhatGrew();
  registry().Rename("large", "moved", false);
  AddItems(*filter, "after", 10);
  Make("gone");
  ExpectSame();
  SaveWhatGrew();
  ExpectSame();
}

TEST_F(LargeFilterTest, AFlushBeforeTheSnapshotDoesNotHappenAgain) {
  Make("flushed");
  registry().Flush(false);
  const FilterPtr filter = MakeSaved();
  SaveWhatGrew();
  ExpectSame();
}

TEST_F(LargeFilterTest, TheLogItNeedsIsKeptAndGoesWithIt) {
  MakeSaved();
  for (int i = 0; i < 5; ++i) {
    Make("other" + std::to_string(i));
    SaveWhatGrew();
    AddItem(*registry().Find("large"), std::to_string(i));
  }
  EXPECT_GT(server_->writer->LogBytes(), 100 * sizeof(core::KeyHash));
  ExpectSame();
  registry().Remove("large");
  SaveWhatGrew();
  EXPECT_EQ(server_->writer->LogBytes(), 0u);
  ExpectSame();
}

TEST_F(LargeFilterTest, ALogThatEndsBeforeTheSnapshotIsDamaged) {
  MakeSaved();
  SaveWhatGrew();
  server_->AwaitLog();
  End();
  // The segment that the snapshot needs the end of.
  const std::vector<LogFile> files = ListLog(disk_, "/d/log").value();
  ASSERT_EQ(files.size(), 2u);
  const std::string whole = disk_.Get(files.front().path);
  disk_.Put(files.front().path, whole.substr(0, whole.size() - 1));
  EXPECT_EQ(StartError().code, core::ErrorCode::kCorrupt);
  for (int start = 0; start < 2; ++start) {
    TestServer server;
    const OnCorruptLog on_corrupt = start == 0 ? OnCorruptLog::kTruncate : OnCorruptLog::kRefuse;
    ASSERT_TRUE(Ok(server.Start(disk_, "/d", {.on_corrupt_log = on_corrupt, .log = FsyncPolicy::kAlways})));
    const FilterPtr left = server.keyspace.registry.Find("large");
    ASSERT_NE(left, nullptr);
    EXPECT_GE(left->ItemCount(), 100u);
    AddItem(*left, "more");
    server.AwaitLog();
  }
}

TEST_F(LargeFilterTest, ASaveThatIsOverdueLeavesTheSnapshotAndTheLog) {
  MakeSaved();
  server_->writer->EndBy(std::chrono::steady_clock::now());
  EXPECT_FALSE(server_->writer->Save().has_value());
  EXPECT_TRUE(server_->writer->IsOverdue());
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

// A power failure lost a write and kept those after it. If the server then saved and was killed before it wrote to its
// log, the next start found these beyond the snapshot, and was refused.
TEST_F(LogRecoveryTest, WhatLiesBeyondATornEndIsFoundOnce) {
  End();
  Begin(FsyncPolicy::kNever);
  const FilterPtr filter = Make("f");
  AddItems(*filter, "i", 10);
  server_->AwaitLog();
  const size_t lost_at = disk_.Get(LogPath()).size();
  AddItem(*filter, "lost");
  server_->AwaitLog();
  const size_t kept_from = disk_.Get(LogPath()).size();
  for (int i = 0; i < 5; ++i) {
    AddItem(*filter, "later" + std::to_string(i));
    server_->AwaitLog();
  }
  End();
  std::string bytes = disk_.Get(LogPath());
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(lost_at), bytes.begin() + static_cast<ptrdiff_t>(kept_from), '\0');
  disk_.Put(LogPath(), bytes);
  Begin();
  ASSERT_TRUE(server_->report.log.torn.has_value());
  const Contents found = server_->contents();
  End();
  Begin();
  EXPECT_FALSE(server_->report.log.torn.has_value());
  EXPECT_EQ(server_->contents(), found);
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
  InsertPrepared("b", core::CloneFilter(*a, server_->keyspace.memory, core::SystemClock()).value());
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
  for (const core::FilterType kind : AllTypes()) Make(std::string(core::FilterTypeName(kind)), kind);
  std::atomic<bool> stop{false};
  {
    std::vector<std::jthread> writers;
    for (int w = 0; w < 2; ++w) {
      writers.emplace_back([&, w] {
        std::mt19937 random(w);
        const std::vector<core::FilterType> types = AllTypes();
        for (int i = 0; !stop.load(); ++i) {
          const core::FilterType kind = types[random() % types.size()];
          const std::string name(core::FilterTypeName(kind));
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
