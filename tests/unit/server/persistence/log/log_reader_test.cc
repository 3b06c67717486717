#include "server/persistence/log/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/bytes.h"
#include "tests/support/fault_disk.h"
#include "tests/support/log_checksums.h"
#include "tests/support/log_fixture.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

log::Record Change(uint64_t sequence) {
  return log::Changed{core::ChangeKind::kAdded, 1, sequence, 0, {{sequence, ~sequence}}};
}
constexpr uint64_t kChangeBytes = 37;

// Appends frames of one change each, every one durable before the next, as with appendfsync always.
void AppendChanges(LogSegmentWriter& writer, uint64_t first, uint64_t last) {
  for (uint64_t sequence = first; sequence <= last; ++sequence) {
    ASSERT_TRUE(Ok(writer.Append(Encoded(Change(sequence)), writer.end())));
    ASSERT_TRUE(Ok(writer.Sync()));
  }
}

std::vector<std::string> Changes(uint64_t first, uint64_t last) {
  std::vector<std::string> changes;
  for (uint64_t sequence = first; sequence <= last; ++sequence) changes.push_back(Encoded(Change(sequence)));
  return changes;
}

// Two segments: changes 1 to 3 and 4 to 6.
void MakeTwoSegments(TestLog& log) {
  auto first = log.Begin(0);
  AppendChanges(first, 1, 3);
  auto second = log.Begin(first.end());
  AppendChanges(second, 4, 6);
}

void Flip(TestLog& log, const std::string& path, size_t bit) {
  std::string bytes = log.disk.Get(path);
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  log.disk.Put(path, bytes);
}

TEST(LogReader, ReadsAllSegmentsInOrder) {
  TestLog log;
  MakeTwoSegments(log);
  const ReadBack back = log.Read();
  EXPECT_EQ(back.records, Changes(1, 6));
  EXPECT_THAT(back.positions, ElementsAre(0, 37, 74, 111, 148, 185));
  EXPECT_EQ(back.scan.records, 6u);
  EXPECT_EQ(back.scan.end, 6 * kChangeBytes);
  EXPECT_EQ(back.scan.bytes, 2 * kLogHeadBytes + 6 * (kLogFrameHeadBytes + kChangeBytes));
  EXPECT_EQ(back.scan.torn, std::nullopt);
  EXPECT_EQ(back.scan.damage, std::nullopt);
}

TEST(LogReader, ReadsFromAPositionOn) {
  TestLog log;
  MakeTwoSegments(log);
  EXPECT_EQ(log.Read(74).records, Changes(3, 6));
  EXPECT_EQ(log.Read(111).records, Changes(4, 6));
  EXPECT_EQ(log.Read(185).records, Changes(6, 6));
  EXPECT_THAT(log.Read(222).records, IsEmpty());
  EXPECT_EQ(log.Read(222).scan.end, 222u);
  Flip(log, TestLog::PathOf(0), 500);
  EXPECT_EQ(log.Read(111).scan.damage, std::nullopt) << "what lies before is not asked for";
}

TEST(LogReader, ReadsManyRecordsOfAFrame) {
  TestLog log;
  auto writer = log.Begin(0);
  const std::vector<log::Record> samples = SampleRecords();
  ASSERT_TRUE(Ok(writer.Append(Encoded(samples), 0)));
  EXPECT_EQ(log.Read().records.size(), samples.size());
  EXPECT_EQ(log.Read().scan.end, writer.end());
  const uint64_t second = Encoded(samples[0]).size();
  EXPECT_EQ(log.Read(second).positions.front(), second) << "from the middle of a frame";
}

TEST(LogReader, NoLogIsAnEmptyLog) {
  MemoryDisk disk;
  EXPECT_THAT(disk.CreateDirectory("/d").has_value() ? ListLog(disk, "/d/log").value() : std::vector<LogFile>(1),
              IsEmpty());
  TestLog log;
  EXPECT_THAT(log.Files(), IsEmpty());
  EXPECT_EQ(log.Read(77).scan.end, 77u);
  log.disk.Put(kLogDirectory + "/notes.txt", "not ours");
  EXPECT_THAT(log.Files(), IsEmpty());
}

TEST(LogReader, EveryTruncationIsATornEnd) {
  TestLog log;
  MakeTwoSegments(log);
  const std::string path = TestLog::PathOf(111);
  const std::string whole = log.disk.Get(path);
  constexpr uint64_t kFrame = kLogFrameHeadBytes + kChangeBytes;
  for (size_t size = 0; size <= whole.size(); ++size) {
    log.disk.Put(path, whole.substr(0, size));
    const ReadBack back = log.Read();
    const uint64_t frames = size < kLogHeadBytes ? 0 : (size - kLogHeadBytes) / kFrame;
    EXPECT_EQ(back.records, Changes(1, 3 + frames)) << size;
    EXPECT_EQ(back.scan.end, (3 + frames) * kChangeBytes);
    EXPECT_EQ(back.scan.damage, std::nullopt) << size;
    const bool whole_frames = size >= kLogHeadBytes && (size - kLogHeadBytes) % kFrame == 0;
    ASSERT_EQ(back.scan.torn.has_value(), !whole_frames) << size;
    if (whole_frames) continue;
    EXPECT_EQ(back.scan.torn->path, path);
    EXPECT_EQ(back.scan.torn->offset, size < kLogHeadBytes ? 0 : kLogHeadBytes + frames * kFrame);
    EXPECT_EQ(back.scan.torn->position, back.scan.end);
    EXPECT_EQ(back.scan.torn->lost_bytes, size - back.scan.torn->offset);
    EXPECT_EQ(back.scan.torn->lost_records, 0u);
    EXPECT_THAT(back.scan.torn->reason, HasSubstr(path + ": at byte " + std::to_string(back.scan.torn->offset)));
  }
}

// Each frame knows that the one before it is durable; so only the last one can pass for one that a crash left.
TEST(LogReader, EveryFlippedBitIsFound) {
  TestLog log;
  MakeTwoSegments(log);
  const std::vector<std::string> all = Changes(1, 6);
  for (const uint64_t start : {0, 111}) {
    const std::string path = TestLog::PathOf(start);
    const std::string whole = log.disk.Get(path);
    const size_t last_frame = whole.size() - kLogFrameHeadBytes - kChangeBytes;
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
      Flip(log, path, bit);
      const ReadBack back = log.Read();
      EXPECT_LT(back.records.size(), all.size()) << bit;
      EXPECT_TRUE(std::equal(back.records.begin(), back.records.end(), all.begin())) << bit;
      const bool may_be_torn = start == 111 && bit / 8 >= last_frame;
      EXPECT_EQ(back.scan.torn.has_value(), may_be_torn) << bit;
      ASSERT_EQ(back.scan.damage.has_value(), !may_be_torn) << bit;
      if (!may_be_torn) {
        EXPECT_EQ(back.scan.damage->path, path);
        EXPECT_EQ(back.scan.damage->position, back.scan.end);
        // A flip in the salt invalidates all later frames; otherwise only the frame that was hit is lost.
        const bool salt = bit / 8 >= 20 && bit / 8 < 28;
        const bool head = bit / 8 < kLogHeadBytes;
        const uint64_t kept = back.records.size() + back.scan.damage->lost_records;
        EXPECT_EQ(kept, salt ? all.size() - 3 : head ? all.size() : all.size() - 1) << bit;
      }
      log.disk.Put(path, whole);
    }
  }
}

TEST(LogReader, WhatWasNotKnownToBeDurableMayBeTorn) {
  TestLog log;
  auto writer = log.Begin(0);
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) {
    ASSERT_TRUE(Ok(writer.Append(Encoded(Change(sequence)), sequence == 5 ? 2 * kChangeBytes : 0)));
  }
  const size_t frame = kLogFrameHeadBytes + kChangeBytes;
  const std::string whole = log.disk.Get(writer.path());
  Flip(log, writer.path(), (kLogHeadBytes + 2 * frame) * 8);
  ReadBack back = log.Read();
  EXPECT_EQ(back.records, Changes(1, 2));
  ASSERT_TRUE(back.scan.torn.has_value());
  EXPECT_EQ(back.scan.torn->lost_records, 2u);
  EXPECT_EQ(back.scan.torn->lost_bytes, 3 * frame);
  log.disk.Put(writer.path(), whole);
  Flip(log, writer.path(), (kLogHeadBytes + frame) * 8);
  back = log.Read();
  EXPECT_EQ(back.records, Changes(1, 1));
  ASSERT_TRUE(back.scan.damage.has_value()) << "the last frame knew the second to be durable";
  EXPECT_EQ(back.scan.damage->lost_records, 3u);
}

TEST(LogReader, ALaterSegmentSupersedesWhatLiesBeyondItsStart) {
  TestLog log;
  auto first = log.Begin(0);
  AppendChanges(first, 1, 2);
  ASSERT_TRUE(Ok(first.Append(Encoded(Change(77)) + Encoded(Change(78)), 0)));
  auto second = log.Begin(2 * kChangeBytes);
  AppendChanges(second, 3, 4);
  EXPECT_EQ(log.Read().records, Changes(1, 4));
  EXPECT_EQ(log.Read().scan.torn, std::nullopt);
  // Whatever became of it.
  const std::string whole = log.disk.Get(first.path());
  for (size_t size = kLogHeadBytes + 2 * (kLogFrameHeadBytes + kChangeBytes); size < whole.size(); ++size) {
    log.disk.Put(first.path(), whole.substr(0, size));
    EXPECT_EQ(log.Read().records, Changes(1, 4)) << size;
    EXPECT_EQ(log.Read().scan.damage, std::nullopt) << size;
  }
}

TEST(LogReader, ASegmentMayBeginWithinAFrameOfTheOneBefore) {
  TestLog log;
  auto first = log.Begin(0);
  ASSERT_TRUE(Ok(first.Append(Encoded(Change(1)) + Encoded(Change(77)), 0)));
  auto second = log.Begin(kChangeBytes);
  AppendChanges(second, 2, 3);
  EXPECT_EQ(log.Read().records, Changes(1, 3));
}

TEST(LogReader, ASegmentThatBeginsWithinARecordIsDamage) {
  TestLog log;
  auto first = log.Begin(0);
  AppendChanges(first, 1, 2);
  auto second = log.Begin(kChangeBytes + 1);
  AppendChanges(second, 3, 3);
  const ReadBack back = log.Read();
  EXPECT_EQ(back.records, Changes(1, 1));
  ASSERT_TRUE(back.scan.damage.has_value());
  EXPECT_THAT(back.scan.damage->reason, HasSubstr("beyond the beginning of the next segment"));
}

TEST(LogReader, AMissingSegmentIsDamage) {
  TestLog log;
  MakeTwoSegments(log);
  auto third = log.Begin(222);
  AppendChanges(third, 7, 8);
  ASSERT_TRUE(Ok(log.disk.Remove(TestLog::PathOf(111))));
  const ReadBack back = log.Read();
  EXPECT_EQ(back.records, Changes(1, 3));
  EXPECT_EQ(back.scan.end, 111u);
  ASSERT_TRUE(back.scan.damage.has_value());
  EXPECT_EQ(back.scan.damage->lost_records, 2u);
  EXPECT_THAT(back.scan.damage->reason,
              HasSubstr("begins at position 222, but the log from position 111 to there is missing"));
  EXPECT_EQ(log.Read(222).records, Changes(7, 8)) << "below the position nothing is missing";
  EXPECT_EQ(log.Read(222).scan.damage, std::nullopt);
}

// A crash may take what the log had not made durable, and the snapshot has.
TEST(LogReader, ALogMayEndBeforeTheSnapshotThatItContinues) {
  TestLog log;
  MakeTwoSegments(log);
  const std::string path = TestLog::PathOf(111);
  const std::string whole = log.disk.Get(path);
  for (size_t size = 0; size <= whole.size(); ++size) {
    log.disk.Put(path, whole.substr(0, size));
    const ReadBack back = log.Read(300);
    EXPECT_THAT(back.records, IsEmpty());
    EXPECT_EQ(back.scan.end, 300u);
    EXPECT_EQ(back.scan.damage, std::nullopt) << size;
  }
  for (size_t bit = kLogHeadBytes * 8; bit < whole.size() * 8; ++bit) {
    Flip(log, path, bit);
    EXPECT_EQ(log.Read(300).scan.damage, std::nullopt) << bit;
    log.disk.Put(path, whole);
  }
  auto next = log.Begin(300);
  AppendChanges(next, 9, 9);
  EXPECT_EQ(log.Read(300).records, Changes(9, 9));
}

// A snapshot was complete before the log was written, and a power failure then lost a write and kept the one after it.
TEST(LogReader, WhatLiesBelowAPositionNeedNotBeReadable) {
  TestLog log;
  MakeTwoSegments(log);
  Flip(log, TestLog::PathOf(111), (kLogHeadBytes + 5) * 8);
  for (const uint64_t from : {148, 185, 222}) {
    const ReadBack back = log.Read(from);
    EXPECT_EQ(back.scan.damage, std::nullopt) << from;
    EXPECT_EQ(back.scan.torn.has_value(), from == 222) << from;
    EXPECT_EQ(back.scan.end, 222u) << from;
    EXPECT_EQ(back.records, Changes(1 + from / kChangeBytes, 6)) << from;
  }
}

TEST(LogReader, DamageBelowAPositionIsDamageIfWhatFollowsCannotBeReached) {
  TestLog log;
  MakeTwoSegments(log);
  const size_t frame_bytes = kLogFrameHeadBytes + kChangeBytes;
  Flip(log, TestLog::PathOf(111), (kLogHeadBytes + 5) * 8);
  Flip(log, TestLog::PathOf(111), (kLogHeadBytes + frame_bytes + 5) * 8);
  EXPECT_TRUE(log.Read(148).scan.damage.has_value()) << "the last frame says that the one before it was durable";
  EXPECT_FALSE(log.Read(185).scan.damage.has_value());
}

TEST(LogReader, WithoutItsFirstSegmentALogIsDamaged) {
  TestLog log;
  MakeTwoSegments(log);
  ASSERT_TRUE(Ok(log.disk.Remove(TestLog::PathOf(0))));
  const ReadBack back = log.Read(0);
  EXPECT_THAT(back.records, IsEmpty());
  EXPECT_EQ(back.scan.end, 0u);
  ASSERT_TRUE(back.scan.damage.has_value()) << "the first one is missing";
  EXPECT_EQ(back.scan.damage->lost_records, 3u);
}

TEST(LogReader, ATornHeadIsATornEndOfTheLastSegmentAlone) {
  TestLog log;
  MakeTwoSegments(log);
  const std::string head = log.disk.Get(TestLog::PathOf(0)).substr(0, kLogHeadBytes);
  log.disk.Put(TestLog::PathOf(0), head.substr(0, 20));
  EXPECT_TRUE(log.Read().scan.damage.has_value());
  MakeTwoSegments(log);
  log.disk.Put(TestLog::PathOf(222), std::string(kLogHeadBytes, '\0'));
  EXPECT_TRUE(log.Read().scan.torn.has_value());
  EXPECT_EQ(log.Read().records, Changes(1, 6));
  log.disk.Put(TestLog::PathOf(222), std::string(kLogHeadBytes + 1, '\0'));
  EXPECT_TRUE(log.Read().scan.damage.has_value()) << "a frame was begun, so the head was durable";
}

TEST(LogReader, ANewerVersionIsRefused) {
  TestLog log;
  MakeTwoSegments(log);
  std::string newer = log.disk.Get(TestLog::PathOf(111));
  newer[8] = kLogVersion + 1;
  test::PutLogChecksums(newer);
  log.disk.Put(TestLog::PathOf(111), newer);
  const VisitRecord ignore = [](uint64_t, const log::Record&) -> core::Status { return {}; };
  auto scan = log.Read(0, ignore);
  ASSERT_FALSE(scan.has_value());
  EXPECT_EQ(scan.error().code, core::ErrorCode::kUnsupported);
  EXPECT_THAT(scan.error().message, HasSubstr("log segment of version 2; this server reads up to version 1"));
  Flip(log, TestLog::PathOf(0), 400);
  scan = log.Read(0, ignore);
  ASSERT_FALSE(scan.has_value()) << "damage before it does not make it less so";
  EXPECT_EQ(scan.error().code, core::ErrorCode::kUnsupported);
}

// Names are arbitrary bytes; and a file may hold what was once part of another.
TEST(LogReader, BytesWithinRecordsAreNoFrames) {
  TestLog log;
  auto other = log.Begin(0);
  AppendChanges(other, 1, 2);
  const std::string frames = log.disk.Get(other.path()).substr(kLogHeadBytes);
  auto writer = LogSegmentWriter::Create(log.disk, kLogDirectory, 0);
  ASSERT_TRUE(Ok(writer->Append(Encoded(log::Unnamed{frames}), 0)));
  Flip(log, writer->path(), kLogHeadBytes * 8);
  const ReadBack back = log.Read();
  EXPECT_TRUE(back.scan.torn.has_value());
  EXPECT_EQ(back.scan.torn->lost_records, 0u);
}

TEST(LogReader, HostileLengthsAllocateNothing) {
  TestLog log;
  auto writer = log.Begin(0);
  AppendChanges(writer, 1, 2);
  for (const uint32_t bytes : {0U, 1000U, kFrameBytes, kFrameBytes + 1, UINT32_MAX}) {
    std::string segment = log.disk.Get(writer.path());
    const size_t at = kLogHeadBytes + kLogFrameHeadBytes + kChangeBytes;
    segment.replace(at, sizeof bytes, reinterpret_cast<const char*>(&bytes), sizeof bytes);
    test::PutLogChecksums(segment);
    TestLog hostile;
    hostile.disk.Put(writer.path(), segment);
    const ReadBack back = hostile.Read();
    EXPECT_EQ(back.records, Changes(1, 1)) << bytes;
    EXPECT_TRUE(back.scan.torn.has_value()) << bytes;
  }
}

TEST(LogReader, ABadRecordInAGoodFrameIsDamage) {
  TestLog log;
  auto writer = log.Begin(0);
  const std::string bad("\x01\x00\x00\x00\xee", 5);
  ASSERT_TRUE(Ok(writer.Append(Encoded(Change(1)) + bad + Encoded(Change(2)), 0)));
  AppendChanges(writer, 3, 3);
  const ReadBack back = log.Read();
  EXPECT_EQ(back.records, Changes(1, 1));
  ASSERT_TRUE(back.scan.damage.has_value());
  EXPECT_EQ(back.scan.damage->offset, kLogHeadBytes + kLogFrameHeadBytes + kChangeBytes);
  EXPECT_EQ(back.scan.damage->position, kChangeBytes);
  EXPECT_EQ(back.scan.damage->lost_records, 1u)
      << "of the next frame; where the next one of this frame is, nobody knows";
  EXPECT_THAT(back.scan.damage->reason, HasSubstr("of unknown kind 238"));
}

TEST(LogReader, AVisitorMayRefuseARecord) {
  TestLog log;
  auto writer = log.Begin(0);
  ASSERT_TRUE(Ok(writer.Append(Encoded(Change(1)) + Encoded(Change(2)) + Encoded(Change(3)), 0)));
  const auto refuse = [&](core::ErrorCode code) {
    return log.Read(0, [code](uint64_t position, const log::Record&) -> core::Status {
      if (position < kChangeBytes) return {};
      return core::Fail(code, "there is no such filter");
    });
  };
  const std::string message = writer.path() + ": at byte " +
                              std::to_string(kLogHeadBytes + kLogFrameHeadBytes + kChangeBytes) +
                              ": there is no such filter";
  const auto scan = refuse(core::ErrorCode::kCorrupt);
  ASSERT_TRUE(scan.has_value() && scan->damage.has_value());
  EXPECT_EQ(scan->damage->reason, message);
  EXPECT_EQ(scan->damage->lost_records, 1u);
  EXPECT_EQ(scan->end, kChangeBytes);
  EXPECT_EQ(scan->records, 1u);
  const auto error = refuse(core::ErrorCode::kOutOfMemory);
  ASSERT_FALSE(error.has_value());
  EXPECT_EQ(error.error().code, core::ErrorCode::kOutOfMemory);
  EXPECT_EQ(error.error().message, message);
}

TEST(LogReader, ATornEndIsCutByTheNextSegment) {
  TestLog log;
  MakeTwoSegments(log);
  const std::string path = TestLog::PathOf(111);
  log.disk.Put(path, log.disk.Get(path).substr(0, kLogHeadBytes + 100));
  const uint64_t end = log.Read().scan.end;
  auto next = log.Begin(end);
  AppendChanges(next, 5, 6);
  EXPECT_EQ(log.Read().records, Changes(1, 6));
  EXPECT_EQ(log.Read().scan.torn, std::nullopt);
}

TEST(LogReader, WhatAPowerFailureLeavesIsNeverDamage) {
  TestLog log;
  auto writer = log.Begin(0);
  AppendChanges(writer, 1, 3);
  ASSERT_TRUE(Ok(writer.Append(Encoded(Change(4)), writer.end())));
  log.disk.LosePower(MemoryDisk::UnsyncedNames::kLost);
  EXPECT_EQ(log.Read().records, Changes(1, 3));
  EXPECT_EQ(log.Read().scan.damage, std::nullopt);
}

TEST(LogReader, RemovesWhatLiesWhollyBelow) {
  TestLog log;
  for (const uint64_t start : {0, 100, 200, 300}) log.Begin(start);
  const auto starts = [&log] {
    std::vector<uint64_t> found;
    for (const LogFile& file : log.Files()) found.push_back(file.start);
    return found;
  };
  EXPECT_THAT(RemoveLogBefore(log.disk, kLogDirectory, 99), IsEmpty());
  EXPECT_THAT(starts(), ElementsAre(0, 100, 200, 300));
  EXPECT_THAT(RemoveLogBefore(log.disk, kLogDirectory, 100), IsEmpty());
  EXPECT_THAT(starts(), ElementsAre(100, 200, 300));
  log.disk.LosePower(MemoryDisk::UnsyncedNames::kLost);
  EXPECT_THAT(starts(), ElementsAre(100, 200, 300)) << "the directory was synced";
  FaultDisk disk(log.disk);
  disk.SetFault({2, Fault::Kind::kFail});
  EXPECT_THAT(RemoveLogBefore(disk, kLogDirectory, 1000), ElementsAre(HasSubstr(TestLog::PathOf(200))));
  EXPECT_THAT(starts(), ElementsAre(200, 300)) << "the last one stays, whatever the position";
  EXPECT_THAT(RemoveLogBefore(log.disk, kLogDirectory, 1000), IsEmpty());
  EXPECT_THAT(starts(), ElementsAre(300));
}

}  // namespace
}  // namespace bitsieve::server
