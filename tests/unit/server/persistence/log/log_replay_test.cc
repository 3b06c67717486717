#include "server/persistence/log/log_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/filter/filter_factory.h"
#include "server/keyspace/loading_names.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kSnapshotPosition = 1'000;

class LogReplayTest : public testing::Test {
 protected:
  static core::FilterParams Params() {
    core::FilterParams params;
    params.capacity = 50;
    params.seed = 7;
    return params;
  }
  // Applies a record of the log after the snapshot.
  core::Status Apply(const log::Record& record) { return replay_.Apply(position_++, record); }
  void MakeNamed(uint64_t id, const std::string& name) {
    ASSERT_TRUE(Ok(Apply(log::Made{id, Params()})));
    ASSERT_TRUE(Ok(Apply(log::Named{name, id, 0})));
  }
  log::Changed Added(uint64_t id, uint64_t sequence, const std::string& item) const {
    return {core::ChangeKind::kAdded, id, sequence, 0, {twin_->HashOf(item)}};
  }
  static log::Changed Rewritten(uint64_t id, uint64_t sequence) {
    return {core::ChangeKind::kRewritten, id, sequence, 0, {}};
  }
  bool Has(const std::string& name, const std::string& item) const {
    const Entry* const entry = names_.Find(name);
    return entry != nullptr && entry->filter != nullptr && HasItem(*entry->filter, item);
  }
  core::Result<FilterPtr> Load(const log::Image& image, core::MemoryBudget& memory) {
    if (image.file_id == kDamagedFile) return FilterPtr();
    auto filter = core::MakeFilter(Params(), memory, clock_);
    if (!filter) return tl::unexpected(filter.error());
    AddItem(**filter, "of the file");
    return FilterPtr(std::move(*filter));
  }

  static constexpr uint64_t kDamagedFile = 99;

  core::FilterClock clock_;
  TestKeyspace keyspace_;
  LoadingNames names_{keyspace_.registry};
  uint64_t position_ = kSnapshotPosition;
  const std::unique_ptr<core::Filter> twin_ = std::move(*core::MakeFilter(Params(), keyspace_.memory, clock_));
  LogReplay replay_{names_,
                    keyspace_.quotas,
                    clock_,
                    {.snapshot_position = kSnapshotPosition, .next_filter_id = 5, .listener = nullptr},
                    [this](const log::Image& image, core::MemoryBudget& memory) { return Load(image, memory); }};
};

TEST_F(LogReplayTest, FiltersComeToBeWithTheirNamesAndChanges) {
  MakeNamed(7, "a");
  ASSERT_TRUE(Ok(Apply(Added(7, 1, "one"))));
  ASSERT_TRUE(Ok(Apply(Added(7, 2, "two"))));
  ASSERT_TRUE(Ok(Apply(log::Expiry{"a", 77})));
  ASSERT_TRUE(Ok(Apply(log::Renamed{"a", "b"})));
  replay_.Finish();
  EXPECT_TRUE(Has("b", "one") && Has("b", "two"));
  EXPECT_EQ(names_.Find("b")->expires_ms, 77);
  EXPECT_EQ(names_.Find("b")->filter->sequence(), 2U);
  EXPECT_EQ(names_.size(), 1U);
  EXPECT_EQ(replay_.next_filter_id(), 8U);
}

TEST_F(LogReplayTest, AChangeThatDoesNotFollowChangesNothing) {
  MakeNamed(7, "a");
  const core::Status gap = Apply(Added(7, 2, "two"));
  ASSERT_FALSE(gap);
  EXPECT_EQ(gap.error().code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(gap.error().message, HasSubstr("change 2 of filter 7 follows change 0"));
  EXPECT_FALSE(Has("a", "two"));
  EXPECT_TRUE(Ok(Apply(Added(7, 1, "one")))) << "the state is what it was";
  EXPECT_TRUE(Ok(Apply(Added(7, 1, "other")))) << "it is known already";
  EXPECT_FALSE(Has("a", "other"));
}

TEST_F(LogReplayTest, ChangesOfAFilterThatWasNeverMadeAreDamageAndOfOneThatIsGoneAreNot) {
  EXPECT_EQ(Apply(Added(8, 1, "one")).error().code, core::ErrorCode::kCorrupt);
  EXPECT_EQ(Apply(log::Named{"a", 8, 0}).error().code, core::ErrorCode::kCorrupt);
  EXPECT_EQ(Apply(log::Made{0, Params()}).error().code, core::ErrorCode::kCorrupt);
  MakeNamed(8, "a");
  ASSERT_TRUE(Ok(Apply(log::Unnamed{"a"})));
  EXPECT_TRUE(Ok(Apply(Added(8, 1, "one")))) << "a client was still adding to it";
  EXPECT_TRUE(Ok(Apply(log::Unnamed{"a"}))) << "it had expired";
  EXPECT_EQ(names_.size(), 0U);
}

TEST_F(LogReplayTest, AFilterHasOneName) {
  MakeNamed(7, "a");
  EXPECT_EQ(Apply(log::Named{"b", 7, 0}).error().code, core::ErrorCode::kCorrupt);
  EXPECT_EQ(names_.size(), 1U);
}

TEST_F(LogReplayTest, ANameMeansTheFilterThatItWasGivenLast) {
  MakeNamed(7, "a");
  ASSERT_TRUE(Ok(Apply(Added(7, 1, "one"))));
  MakeNamed(8, "a");
  EXPECT_FALSE(Has("a", "one"));
  EXPECT_EQ(names_.Find("a")->filter->id(), 8U);
  ASSERT_TRUE(Ok(Apply(log::Flushed{})));
  EXPECT_EQ(names_.size(), 0U);
}

TEST_F(LogReplayTest, AnImageStandsForTheChangesBeforeIt) {
  ASSERT_TRUE(Ok(Apply(log::Image{7, 3, 40, {}})));
  ASSERT_TRUE(Ok(Apply(log::Named{"a", 7, 0})));
  EXPECT_TRUE(Ok(Apply(Added(7, 3, "before"))));
  EXPECT_TRUE(Ok(Apply(Added(7, 4, "after"))));
  EXPECT_TRUE(Has("a", "of the file"));
  EXPECT_FALSE(Has("a", "before"));
  EXPECT_TRUE(Has("a", "after"));
  ASSERT_EQ(replay_.filter_files().size(), 1U);
  EXPECT_EQ(replay_.filter_files()[0].file_id, 40U);
  EXPECT_EQ(replay_.filter_files()[0].position, kSnapshotPosition);
}

TEST_F(LogReplayTest, ADamagedImageTakesItsNameAlongUnlessAnotherOneFollows) {
  for (const uint64_t id : {7, 8}) {
    MakeNamed(id, "filter" + std::to_string(id));
    ASSERT_TRUE(Ok(Apply(log::Image{id, 3, kDamagedFile, {}})));
    EXPECT_TRUE(Ok(Apply(Added(id, 4, "lost"))));
  }
  ASSERT_TRUE(Ok(Apply(log::Image{8, 5, 40, {}})));
  replay_.Finish();
  EXPECT_EQ(names_.Find("filter7"), nullptr);
  EXPECT_TRUE(Has("filter8", "of the file"));
  EXPECT_FALSE(Has("filter8", "lost"));
}

TEST_F(LogReplayTest, BeforeTheSnapshotsPositionOnlyChangesOfItsFiltersCount) {
  const FilterPtr saved(std::move(*core::MakeFilter(Params(), keyspace_.memory, clock_)));
  saved->Attach(nullptr, 3, 2);
  EntryPtr entry = names_.Make("saved");
  entry->filter = saved;
  replay_.Add(3, *entry);
  names_.Insert({&entry, 1});

  position_ = 10;
  EXPECT_TRUE(Ok(Apply(Added(3, 2, "in the snapshot"))));
  EXPECT_TRUE(Ok(Apply(Added(3, 3, "after its file"))));
  EXPECT_TRUE(Ok(Apply(Added(4, 1, "of a filter that is gone"))));
  EXPECT_TRUE(Ok(Apply(log::Unnamed{"saved"}))) << "the snapshot has the names of later";
  EXPECT_TRUE(Ok(Apply(log::Flushed{})));
  EXPECT_TRUE(Has("saved", "after its file"));
  EXPECT_FALSE(Has("saved", "in the snapshot"));

  position_ = kSnapshotPosition;
  EXPECT_TRUE(Ok(Apply(log::Unnamed{"saved"})));
  EXPECT_EQ(names_.size(), 0U);
}

TEST_F(LogReplayTest, AClosedFilterIsToBeFrozenUntilItTakesItemsAgain) {
  MakeNamed(7, "a");
  MakeNamed(8, "b");
  ASSERT_TRUE(Ok(Apply(log::Freezing{7})));
  ASSERT_TRUE(Ok(Apply(log::Freezing{8})));
  EXPECT_EQ(replay_.Freezing().size(), 2U);
  ASSERT_TRUE(Ok(Apply(Added(7, 1, "one"))));
  EXPECT_THAT(replay_.Freezing(), ElementsAre(names_.Find("b")));
  ASSERT_TRUE(Ok(Apply(log::Image{8, 1, 40, {}})));
  EXPECT_THAT(replay_.Freezing(), IsEmpty()) << "the frozen filter is there";
  EXPECT_EQ(Apply(log::Freezing{9}).error().code, core::ErrorCode::kCorrupt);
}

TEST_F(LogReplayTest, AFilterForWhichThereIsNoMemoryIsAnErrorThatChangesNothing) {
  MakeNamed(7, "a");
  keyspace_.memory.set_limit_bytes(keyspace_.memory.used_bytes());
  EXPECT_EQ(Apply(log::Made{8, Params()}).error().code, core::ErrorCode::kOutOfMemory);
  EXPECT_EQ(replay_.next_filter_id(), 8U);
  EXPECT_EQ(names_.size(), 1U);
  keyspace_.memory.set_limit_bytes(0);
  EXPECT_TRUE(Ok(Apply(log::Made{8, Params()})));
}

TEST_F(LogReplayTest, NamesGoWithTheirFiltersWhereverTheyGo) {
  MakeNamed(7, "a");
  MakeNamed(8, "b");
  ASSERT_TRUE(Ok(Apply(Added(7, 1, "one"))));
  EXPECT_TRUE(Ok(Apply(log::Renamed{"a", "a"})));
  EXPECT_TRUE(Ok(Apply(log::Renamed{"absent", "a"}))) << "it had expired";
  EXPECT_TRUE(Ok(Apply(log::Expiry{"absent", 5})));
  EXPECT_TRUE(Ok(Apply(log::Named{"a", 7, 50}))) << "again, with an expiry";
  EXPECT_EQ(names_.Find("a")->expires_ms, 50);
  EXPECT_TRUE(Has("a", "one"));
  ASSERT_TRUE(Ok(Apply(log::Renamed{"a", "b"})));
  EXPECT_TRUE(Has("b", "one"));
  EXPECT_EQ(names_.Find("b")->expires_ms, 50);
  EXPECT_EQ(names_.size(), 1U);
  EXPECT_TRUE(Ok(Apply(log::Expiry{"b", 0})));
  EXPECT_EQ(names_.Find("b")->expires_ms, 0);
  EXPECT_TRUE(Ok(Apply(Added(8, 1, "late")))) << "a client was still adding to it";
}

TEST_F(LogReplayTest, TheNameOfADamagedFilterIsANameAllTheSame) {
  for (const uint64_t id : {7, 8, 9}) {
    MakeNamed(id, "filter" + std::to_string(id));
    ASSERT_TRUE(Ok(Apply(log::Image{id, 3, kDamagedFile, {}})));
  }
  ASSERT_TRUE(Ok(Apply(log::Renamed{"filter7", "moved"})));
  ASSERT_TRUE(Ok(Apply(log::Unnamed{"filter8"})));
  ASSERT_TRUE(Ok(Apply(log::Image{7, 5, 40, {}})));
  ASSERT_TRUE(Ok(Apply(log::Image{8, 5, 40, {}}))) << "of no name now";
  MakeNamed(10, "filter9");
  replay_.Finish();
  EXPECT_TRUE(Has("moved", "of the file"));
  EXPECT_EQ(names_.Find("filter8"), nullptr);
  EXPECT_EQ(names_.Find("filter9")->filter->id(), 10U);
  EXPECT_EQ(names_.size(), 2U);
}

TEST_F(LogReplayTest, WhatAFilterCannotDoItDidNotDo) {
  for (const auto kind : {core::ChangeKind::kRemoved, core::ChangeKind::kFalsePositives}) {
    int able = 0;
    int unable = 0;
    for (const core::FilterTypeRow* row : core::FilterTypes()) {
      core::FilterParams params = Params();
      params.type = row->type;
      const auto twin = core::MakeFilter(params, keyspace_.memory, clock_);
      if (!twin) continue;  // its parameters are others
      const uint64_t id = replay_.next_filter_id();
      ASSERT_TRUE(Ok(Apply(log::Made{id, params}))) << row->name;
      log::Changed change = Added(id, 1, "one");
      change.kind = kind;
      const core::Status status = Apply(change);
      const core::Capabilities can = (*twin)->capabilities();
      if (kind == core::ChangeKind::kRemoved ? can.remove : can.deny) {
        EXPECT_TRUE(Ok(status)) << row->name;
        ++able;
        continue;
      }
      ASSERT_FALSE(status) << row->name;
      EXPECT_EQ(status.error().code, core::ErrorCode::kCorrupt) << row->name;
      EXPECT_THAT(status.error().message, HasSubstr("filter " + std::to_string(id) + " cannot ")) << row->name;
      ++unable;
    }
    EXPECT_GT(able, 0);
    EXPECT_GT(unable, 0);
  }
}

TEST_F(LogReplayTest, AnItemThatAFullFilterTookIsAContradiction) {
  core::FilterParams params = Params();
  params.capacity = 1;
  params.expansion = 0;
  ASSERT_TRUE(Ok(Apply(log::Made{7, params})));
  core::Status status;
  for (uint64_t i = 1; status && i < 1000; ++i) status = Apply(Added(7, i, std::to_string(i)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(status.error().message,
              HasSubstr("filter 7 does not accept an item that was accepted before, in change"));
}

TEST_F(LogReplayTest, AFilterThatCannotBeMadeIsAContradiction) {
  core::FilterParams params = Params();
  params.error_rate = 2;
  const core::Status status = Apply(log::Made{7, params});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kCorrupt);
  EXPECT_THAT(status.error().message, HasSubstr("filter 7 cannot be created: "));
  EXPECT_EQ(Apply(log::Image{0, 1, 40, {}}).error().code, core::ErrorCode::kCorrupt);
  const core::Status content = Apply(log::Content{.id = 7, .sequence = 1, .header = "no header", .body = ""});
  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().message, HasSubstr("filter 7 cannot be read: "));
}

// A union or a freeze writes its outcome while clients go on: changes since then are made again in what comes.
TEST_F(LogReplayTest, TheOutcomeOfARewriteIsFollowedByTheChangesSince) {
  MakeNamed(7, "a");
  ASSERT_TRUE(Ok(Apply(Added(7, 1, "before"))));
  ASSERT_TRUE(Ok(Apply(Rewritten(7, 2))));
  ASSERT_TRUE(Ok(Apply(Added(7, 3, "since"))));
  ASSERT_TRUE(Ok(Apply(Rewritten(7, 4))));
  ASSERT_TRUE(Ok(Apply(log::Freezing{7})));
  EXPECT_TRUE(Has("a", "before") && Has("a", "since")) << "until the outcome comes";
  ASSERT_TRUE(Ok(Apply(log::Image{7, 2, 40, {}})));
  EXPECT_TRUE(Has("a", "of the file") && Has("a", "since"));
  EXPECT_FALSE(Has("a", "before"));
  EXPECT_EQ(names_.Find("a")->filter->sequence(), 4U);
  EXPECT_EQ(replay_.Freezing().size(), 1U) << "it was closed after the rewrite";
  ASSERT_TRUE(Ok(Apply(log::Image{7, 3, 40, {}}))) << "older than what is known";
  EXPECT_TRUE(Has("a", "since"));
  ASSERT_TRUE(Ok(Apply(log::Image{7, 4, 40, {}})));
  EXPECT_FALSE(Has("a", "since"));
}

TEST_F(LogReplayTest, TheOutcomeOfARewriteOfAFilterThatIsGoneIsNotNeeded) {
  MakeNamed(7, "a");
  ASSERT_TRUE(Ok(Apply(Rewritten(7, 1))));
  ASSERT_TRUE(Ok(Apply(Added(7, 2, "since"))));
  ASSERT_TRUE(Ok(Apply(log::Unnamed{"a"})));
  ASSERT_TRUE(Ok(Apply(log::Image{7, 1, 40, {}})));
  ASSERT_TRUE(Ok(Apply(Rewritten(7, 3)))) << "a client was still at it";
  ASSERT_TRUE(Ok(Apply(log::Image{7, 3, 40, {}})));
  replay_.Finish();
  EXPECT_EQ(names_.size(), 0U);
}

TEST_F(LogReplayTest, WithoutMemoryToGrowOrToLoadIsAnErrorOfMemory) {
  MakeNamed(7, "a");
  keyspace_.memory.set_limit_bytes(keyspace_.memory.used_bytes());
  core::Status status;
  for (uint64_t i = 1; status && i < 10'000; ++i) status = Apply(Added(7, i, std::to_string(i)));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kOutOfMemory);
  EXPECT_THAT(status.error().message, HasSubstr("filter 7"));
  EXPECT_TRUE(Ok(Apply(log::Image{7, 20'000, 40, {}}))) << "there is room for one of the two";
  EXPECT_TRUE(Has("a", "of the file"));
}

// With quotas, a filter that is made before it has a name counts in the quota of the name it gets.
TEST_F(LogReplayTest, FiltersCountInTheQuotasOfTheirNames) {
  const config::QuotaRow row{.pattern = "tenant:*", .bytes = 1 << 20};
  keyspace_.quotas.Define({&row, 1});
  MakeNamed(7, "tenant:a");
  MakeNamed(8, "other");
  ASSERT_TRUE(Ok(Apply(log::Made{9, Params()})));
  ASSERT_TRUE(Ok(Apply(log::Image{9, 1, 40, {}}))) << "in the memory of the first";
  ASSERT_TRUE(Ok(Apply(log::Image{7, 1, 40, {}})));
  replay_.Finish();
  EXPECT_GT(keyspace_.quotas.MemoryOf("tenant:b").used_bytes(), 0U);
  EXPECT_TRUE(Has("tenant:a", "of the file"));
}

}  // namespace
}  // namespace bitsieve::server
