// Whole contents in the log and beside it: of filters that a command brought, and of filters that it rewrote in use.
#include "server/persistence/log/log_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_union.h"
#include "tests/support/log_recovery_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using LogContentTest = LogRecoveryTest;

TEST_F(LogContentTest, ContentsThatWereBroughtComeBack) {
  const FilterPtr a = Make("a");
  AddItems(*a, "i", 20);
  FilterPtr copy = core::CloneFilter(*a, server_->keyspace.memory, core::SystemClock()).value();
  AddItems(*copy, "j", 5);
  registry().InsertIfAbsent("copy", copy);
  AddItems(*copy, "k", 5);
  ExpectSame();
  const FilterPtr target = Make("target");
  AddItems(*target, "l", 5);
  const core::Filter* const sources[] = {copy.get()};
  ASSERT_TRUE(Ok(core::UniteInto(*target, sources)));
  ASSERT_TRUE(Ok(registry().LogRewrite(target)));
  AddItems(*target, "m", 5);
  ExpectSame();
  Save();
  AddItems(*target, "n", 5);
  ExpectSame();
  AddItems(*copy, "n", 5);
  ASSERT_TRUE(Ok(registry().LogRewrite(copy)));
  registry().Remove("target");
  ExpectSame();
}

TEST_F(LogContentTest, LargeContentsAreFilesAndSmallOnesAreNot) {
  for (const core::FilterType kind : AllTypes()) {
    const std::string name(core::FilterTypeName(kind));
    const FilterPtr filter = Make(name, kind);
    AddItems(*filter, "i", 20);
    InsertPrepared(name + " copy", core::CloneFilter(*filter, server_->keyspace.memory, core::SystemClock()).value());
    AddItems(*registry().Find(name + " copy"), "j", 5);
  }
  EXPECT_THAT(*disk_.List("/d/filters"), IsEmpty());
  const FilterPtr large = server_->keyspace.Make("large", kLarge);
  AddItems(*large, "i", 20);
  InsertPrepared("large copy", core::CloneFilter(*large, server_->keyspace.memory, core::SystemClock()).value());
  AddItems(*registry().Find("large copy"), "j", 5);
  EXPECT_EQ(disk_.List("/d/filters")->size(), 1u);
  ExpectSame();
}

TEST_F(LogContentTest, AFileThatNobodyCameToNeedIsRemoved) {
  const FilterPtr large = server_->keyspace.Make("large", kLarge);
  AddItems(*large, "i", 20);
  const FilterPtr copy = core::CloneFilter(*large, server_->keyspace.memory, core::SystemClock()).value();
  {
    const auto prepared = registry().Prepare(copy);
    ASSERT_TRUE(Ok(prepared));
    EXPECT_EQ(disk_.List("/d/filters")->size(), 1u);
    EXPECT_EQ(registry().InsertIfAbsent("large", copy), large);
  }
  EXPECT_THAT(*disk_.List("/d/filters"), IsEmpty());
}

// While others add to it: the file is older than the log where it is named.
TEST_F(LogContentTest, WhatIsAddedWhileALargeFilterIsRewrittenIsThere) {
  for (const core::FilterType kind : {core::kBlockedType, core::kCountingType}) {
    const std::string name(core::FilterTypeName(kind));
    const FilterPtr source = server_->keyspace.Make(name + " source", kLarge, kind);
    AddItems(*source, "s", 1000);
    const FilterPtr target = server_->keyspace.Make(name, kLarge, kind);
    std::atomic<bool> stop{false};
    std::jthread writer([&] {
      for (int i = 0; !stop.load(); ++i) {
        AddItem(*target, "t" + std::to_string(i % 5000));
        if (kind == core::kCountingType && i % 3 == 0) RemoveItem(*target, "t" + std::to_string(i % 5000));
      }
    });
    const core::Filter* const sources[] = {source.get()};
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(Ok(core::UniteInto(*target, sources)));
      ASSERT_TRUE(Ok(registry().LogRewrite(target)));
      if (i == 1) Save();
    }
    stop = true;
    writer.join();
    ExpectSame();
  }
}

// Its file may take long: a crash before it is durable leaves the filter without the rewriting, and with all else.
TEST_F(LogContentTest, AnOutcomeThatNeverComesLeavesTheFilterAsItWasMeanwhile) {
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

TEST_F(LogContentTest, AnOutcomeThatComesOutOfOrderCountsOnce) {
  const FilterPtr target = Make("target", core::kCountingType);
  const FilterPtr source = Make("source", core::kCountingType);
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
    server_->log->appended().Append(outcomes[i]);
    AddItems(*target, "and" + std::to_string(i), 5);
    EXPECT_EQ(Recovered().size(), 2u);
  }
  ExpectSame();
}

// A command on a worker may end when its filter has long been deleted.
TEST_F(LogContentTest, AnOutcomeForAFilterThatIsGoneIsNotNeeded) {
  const FilterPtr target = Make("target");
  const FilterPtr source = Make("source");
  AddItems(*source, "s", 5);
  const core::Filter* const sources[] = {source.get()};
  ASSERT_TRUE(Ok(core::UniteInto(*target, sources)));
  ASSERT_TRUE(registry().Remove("target"));
  ExpectSame();
  ASSERT_TRUE(Ok(registry().LogRewrite(target)));
  AddItems(*Make("other"), "o", 5);
  ExpectSame();
  Save();
  ExpectSame();
}

TEST_F(LogContentTest, ContentsInTheLogThatMakeNoSenseAreDamage) {
  const FilterPtr filter = Make("f");
  AddItems(*filter, "i", 5);
  server_->log->appended().Append(log::Content{.id = filter->id(), .sequence = 9, .header = "no header", .body = "x"});
  server_->AwaitLog();
  End();
  EXPECT_THAT(StartError().message, HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace bitsieve::server
