#include "server/persistence/inspect/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/persistence/disk/filter_file.h"
#include "server/persistence/inspect/inspection_report.h"
#include "tests/support/fault_disk.h"
#include "tests/support/log_checksums.h"
#include "tests/support/log_fixture.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A directory with a snapshot of one filter of each type, named after its type.
class InspectionTest : public testing::Test {
 protected:
  InspectionTest() {
    EXPECT_TRUE(Ok(server_.Start(log_.disk, "/d")));
    for (const core::FilterTypeRow* row : core::FilterTypes()) {
      AddItems(*server_.keyspace.Make(std::string(row->name), 20, row->type), "item", 15);
    }
    Save();
  }

  void Save() { EXPECT_TRUE(Ok(server_.writer->Save())); }
  Inspection Look(bool verify) const {
    const auto found = Inspect(log_.disk, "/d", verify ? InspectDepth::kContents : InspectDepth::kHeads);
    EXPECT_TRUE(Ok(found));
    return found.value_or(Inspection());
  }
  static const InspectedFilter& Named(const Inspection& found, std::string_view name) {
    for (const InspectedFilter& filter : found.filters) {
      if (filter.entry.name == name) return filter;
    }
    ADD_FAILURE() << name << " is not listed";
    return found.filters.front();
  }
  void Flip(const std::string& path, size_t at) {
    std::string bytes = log_.disk.Get(path);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    log_.disk.Put(path, bytes);
  }
  // Segments at 0 with two records and at their end with one.
  void WriteLog() {
    auto first = log_.Begin(0);
    ASSERT_TRUE(Ok(first.Append(Encoded(log::Unnamed{"a"}) + Encoded(log::Flushed{}), 0)));
    auto second = log_.Begin(first.end());
    ASSERT_TRUE(Ok(second.Append(Encoded(log::Flushed{}), first.end())));
    second_start_ = first.end();
  }

  TestLog log_;
  TestServer server_;
  uint64_t second_start_ = 0;
};

TEST_F(InspectionTest, TellsOfEveryKindWhatTheFilterItselfTells) {
  for (const bool verify : {false, true}) {
    const Inspection found = Look(verify);
    EXPECT_THAT(found.damage, IsEmpty());
    EXPECT_THAT(found.unreadable, IsEmpty());
    EXPECT_EQ(found.verified, verify);
    EXPECT_EQ(found.filters.size(), core::FilterTypes().size());
    for (const core::FilterTypeRow* row : core::FilterTypes()) {
      const InspectedFilter& filter = Named(found, row->name);
      const core::FilterInfo info = server_.keyspace.registry.Find(std::string(row->name))->Info();
      ASSERT_TRUE(filter.summary.has_value()) << row->name;
      EXPECT_EQ(filter.summary->type, row->type);
      EXPECT_EQ(filter.summary->capacity, info.capacity) << row->name;
      EXPECT_EQ(filter.summary->items, info.items) << row->name;
      EXPECT_GT(filter.body_bytes, 0u);
    }
  }
}

TEST_F(InspectionTest, WritesNothingAndHoldsNoLock) {
  WriteLog();
  FaultDisk disk(log_.disk);
  ASSERT_TRUE(Ok(Inspect(disk, "/d", InspectDepth::kContents)));
  EXPECT_THAT(disk.log(), IsEmpty());
  EXPECT_EQ(Look(false).lock_holder, "somebody in this process") << "a server that runs is no obstacle";
  server_.Stop();
  EXPECT_EQ(Look(false).lock_holder, "");
}

TEST_F(InspectionTest, DamageOfABodyIsFoundByVerifying) {
  const std::string path = Named(Look(false), "classic").path;
  Flip(path, log_.disk.Get(path).size() - 20);
  EXPECT_THAT(Look(true).damage, ElementsAre(testing::AllOf(HasSubstr(path), HasSubstr("'classic'"))));
  EXPECT_FALSE(Named(Look(true), "classic").summary.has_value());
  EXPECT_TRUE(Named(Look(true), "blocked").summary.has_value());
}

TEST_F(InspectionTest, DamageOfAHeadIsFoundAnyway) {
  const std::string path = Named(Look(false), "classic").path;
  Flip(path, 10);
  EXPECT_THAT(Look(false).damage, ElementsAre(HasSubstr(path + ": at byte 0")));
  log_.disk.Put(path, log_.disk.Get(path) + "x");
  EXPECT_THAT(Look(false).damage, ElementsAre(HasSubstr(path)));
}

TEST_F(InspectionTest, FilesThatAreMissingOrTooMany) {
  const std::string path = Named(Look(false), "classic").path;
  log_.disk.Put("/d/filters/900.filter", "left by a crash");
  log_.disk.Put("/d/MANIFEST.tmp", "not finished");
  log_.disk.Put("/d/quarantine/3.filter", "damaged");
  ASSERT_TRUE(Ok(log_.disk.Remove(path)));
  const Inspection found = Look(false);
  EXPECT_THAT(found.damage, ElementsAre(HasSubstr(path + ": is missing, but the manifest lists it")));
  ASSERT_EQ(found.leftovers.size(), 2u);
  EXPECT_EQ(found.leftovers[0].path, "/d/filters/900.filter");
  EXPECT_EQ(found.leftovers[0].bytes, 15u);
  EXPECT_EQ(found.leftovers[1].path, "/d/MANIFEST.tmp");
  ASSERT_EQ(found.quarantined.size(), 1u);
  EXPECT_EQ(found.quarantined[0].path, "/d/quarantine/3.filter");
}

TEST_F(InspectionTest, WithoutAManifestTheRestIsToldAllTheSame) {
  WriteLog();
  ASSERT_TRUE(Ok(log_.disk.Remove("/d/MANIFEST")));
  Inspection found = Look(true);
  EXPECT_FALSE(found.has_manifest);
  EXPECT_THAT(found.damage, ElementsAre(HasSubstr("/d/MANIFEST: is missing")));
  EXPECT_EQ(found.leftovers.size(), core::FilterTypes().size());
  EXPECT_EQ(found.scan.records, 3u);
  log_.disk.Put("/d/MANIFEST", "no manifest");
  EXPECT_THAT(Look(true).damage, ElementsAre(HasSubstr("/d/MANIFEST: at byte 0")));
}

TEST_F(InspectionTest, RecordsAreCountedByKindAndSegment) {
  WriteLog();
  const Inspection found = Look(true);
  ASSERT_EQ(found.log.size(), 2u);
  constexpr auto unnamed = static_cast<size_t>(log::RecordKind::kUnnamed);
  constexpr auto flushed = static_cast<size_t>(log::RecordKind::kFlushed);
  EXPECT_EQ(found.log[0].records[unnamed], 1u);
  EXPECT_EQ(found.log[0].records[flushed], 1u);
  EXPECT_EQ(found.log[1].records[flushed], 1u);
  EXPECT_EQ(found.log[1].start, second_start_);
  EXPECT_EQ(found.log[1].bytes, log_.disk.Get(TestLog::PathOf(second_start_)).size());
  EXPECT_EQ(found.scan.records, 3u);
  EXPECT_EQ(Look(false).log[0].records[unnamed], 0u) << "heads alone are read";
}

TEST_F(InspectionTest, ATornEndOfTheLogIsNoDamage) {
  WriteLog();
  const std::string path = TestLog::PathOf(second_start_);
  log_.disk.Put(path, log_.disk.Get(path).substr(0, kLogHeadBytes + 5));
  const Inspection found = Look(true);
  EXPECT_THAT(found.damage, IsEmpty());
  ASSERT_TRUE(found.scan.torn.has_value());
  EXPECT_THAT(TextOf(found), HasSubstr("a torn end"));
  log_.disk.Put(path, "");
  EXPECT_THAT(Look(false).damage, IsEmpty());
  EXPECT_THAT(Look(true).damage, IsEmpty());
}

TEST_F(InspectionTest, DamageOfTheLogIsNamed) {
  WriteLog();
  const std::string path = TestLog::PathOf(0);
  Flip(path, kLogHeadBytes + 5);
  EXPECT_THAT(Look(false).damage, IsEmpty());
  EXPECT_THAT(Look(true).damage, ElementsAre(HasSubstr(path + ": at byte 36")));
  Flip(path, 9);
  EXPECT_THAT(Look(false).damage, ElementsAre(HasSubstr(path + ": at byte 0")));
}

TEST_F(InspectionTest, FilesThatTheLogNamesAreVerifiedToo) {
  ChunkBuffer buffer;
  const FilterPtr filter = server_.keyspace.registry.Find("blocked");
  const std::string path = "/d/filters/800.filter";
  const FileSeal seal =
      WriteFilterFile(log_.disk, path, "copy", *filter->Capture(), kDefaultChunkBytes, buffer).value();
  auto writer = log_.Begin(0);
  ASSERT_TRUE(Ok(writer.Append(Encoded(log::Image{1, 1, 800, seal}), 0)));
  EXPECT_EQ(Look(true).images, 1u);
  EXPECT_THAT(Look(true).leftovers, IsEmpty());
  EXPECT_THAT(Look(true).damage, IsEmpty());
  EXPECT_EQ(Look(false).leftovers.size(), 1u) << "the log was not asked";
  EXPECT_THAT(TextOf(Look(false)), HasSubstr("but the log may"));
  Flip(path, log_.disk.Get(path).size() - 20);
  EXPECT_THAT(Look(true).damage, ElementsAre(HasSubstr(path)));
  ASSERT_TRUE(Ok(log_.disk.Remove(path)));
  EXPECT_THAT(Look(true).damage, ElementsAre(HasSubstr(path + ": is missing, but the log names it")));
}

TEST_F(InspectionTest, ContentsInTheLogAreVerifiedToo) {
  log::Content content{.id = 1, .sequence = 1, .header = {}, .body = {}};
  const std::unique_ptr<core::FilterImage> image = server_.keyspace.registry.Find("blocked")->Capture();
  content.header = image->header();
  content.body.resize(image->body_bytes());
  ASSERT_TRUE(Ok(image->Read(0, std::as_writable_bytes(std::span(content.body)))));
  auto writer = log_.Begin(0);
  ASSERT_TRUE(Ok(writer.Append(Encoded(content), 0)));
  EXPECT_THAT(Look(true).damage, IsEmpty());
  content.body.pop_back();
  ASSERT_TRUE(Ok(writer.Append(Encoded(content), 0)));
  EXPECT_THAT(Look(true).damage, ElementsAre(HasSubstr("(filter 1 of the log)")));
}

TEST_F(InspectionTest, ANewerVersionIsNotDamage) {
  WriteLog();
  std::string segment = log_.disk.Get(TestLog::PathOf(0));
  segment[8] = kLogVersion + 1;
  test::PutLogChecksums(segment);
  log_.disk.Put(TestLog::PathOf(0), segment);
  for (const bool verify : {false, true}) {
    EXPECT_THAT(Look(verify).damage, IsEmpty());
    EXPECT_THAT(Look(verify).unreadable, ElementsAre(HasSubstr("log segment of version 2")));
  }
}

TEST_F(InspectionTest, ReportsAreForPeopleAndForScripts) {
  server_.keyspace.registry.Rename("classic", std::string("odd\0\xff'", 6), false);
  Save();
  WriteLog();
  const Inspection found = Look(true);
  const std::string text = TextOf(found);
  EXPECT_THAT(text, HasSubstr("/d: snapshot"));
  EXPECT_THAT(text, HasSubstr("'odd\\x00\\xff\\x27'  classic"));
  EXPECT_THAT(text, HasSubstr("1 unnamed, 1 flushed"));
  EXPECT_THAT(text, HasSubstr("in use by somebody"));
  EXPECT_THAT(text, HasSubstr("everything is intact"));
  EXPECT_THAT(TextOf(Look(false)), HasSubstr("--verify reads every byte"));
  const auto json = nlohmann::json::parse(JsonOf(found));
  EXPECT_EQ(json["filters"].size(), core::FilterTypes().size());
  EXPECT_EQ(json["log"]["segments"][0]["records"]["unnamed"], 1);
  EXPECT_EQ(json["log"]["records"], 3);
  EXPECT_TRUE(json["log"]["damage"].is_null());
  EXPECT_TRUE(json["damage"].empty());
  Flip(TestLog::PathOf(0), kLogHeadBytes + 5);
  EXPECT_EQ(nlohmann::json::parse(JsonOf(Look(true)))["log"]["damage"]["offset"], kLogHeadBytes);
  EXPECT_THAT(TextOf(Look(true)), HasSubstr("DAMAGE: " + TestLog::PathOf(0)));
}

TEST(Inspection, OfAServerThatLogs) {
  MemoryDisk disk;
  TestServer server;
  ASSERT_TRUE(Ok(server.Start(disk, "/d", TestServer::Settings{.log = FsyncPolicy::kAlways})));
  Registry& registry = server.keyspace.registry;
  AddItems(*server.keyspace.Make("saved", 400'000), "item", 10);
  ASSERT_TRUE(Ok(server.writer->Save()));
  AddItems(*registry.Find("saved"), "more", 5);
  core::Result<std::unique_ptr<core::Filter>> copy =
      core::CloneFilter(*registry.Find("saved"), server.keyspace.memory, core::SystemClock());
  ASSERT_TRUE(Ok(copy));
  const FilterPtr shared = std::move(*copy);
  {
    const auto prepared = registry.Prepare(shared);
    ASSERT_TRUE(Ok(prepared));
    registry.InsertIfAbsent("copy", shared);
  }
  server.AwaitLog();
  for (const bool running : {true, false}) {
    const auto found = Inspect(disk, "/d", InspectDepth::kContents);
    ASSERT_TRUE(Ok(found));
    EXPECT_THAT(found->damage, IsEmpty());
    EXPECT_THAT(found->leftovers, IsEmpty()) << "the log names the file of the copy";
    EXPECT_EQ(found->images, 1u);
    EXPECT_EQ(found->log.back().records[static_cast<size_t>(log::RecordKind::kAdded)], 5u);
    EXPECT_EQ(found->log.back().start, found->manifest.log_position);
    ASSERT_EQ(found->filters.size(), 1u);
    EXPECT_EQ(found->filters[0].entry.sequence, 10u);
    EXPECT_GT(found->filters[0].entry.filter_id, 0u);
    EXPECT_EQ(found->lock_holder.empty(), !running);
    if (running) server.Stop();
  }
}

TEST(Inspection, OfWhatIsNoDataDirectoryIsAnError) {
  MemoryDisk disk;
  EXPECT_EQ(Inspect(disk, "/none", InspectDepth::kHeads).error().code, core::ErrorCode::kIo);
  ASSERT_TRUE(Ok(disk.CreateDirectory("/other")));
  EXPECT_THAT(Inspect(disk, "/other", InspectDepth::kHeads).error().message, HasSubstr("holds no data of Bitsieve"));
}

}  // namespace
}  // namespace bitsieve::server
