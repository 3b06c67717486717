#include "server/persistence/log/appended_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/log_fixture.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr core::KeyHash kHash{0x1111, 0x2222};

log::Unnamed RecordNamed(const std::string& name) { return {name}; }

struct AppendedRecordsTest : testing::Test {
  std::string Take() {
    std::string records;
    appended.Take(records, starts);
    return records;
  }
  void AppendChange(uint64_t sequence, size_t reserved) {
    appended.Append(core::Change{core::ChangeKind::kAdded, 1, sequence, 0, std::span(&kHash, 1)}, reserved);
  }
  void AppendImage(uint64_t file_id) {
    appended.Append(log::Image{.id = 1, .sequence = 0, .file_id = file_id, .seal = {}});
  }
  std::vector<uint64_t> TakeFilesBefore(uint64_t position) {
    std::vector<uint64_t> ids;
    for (const log::FilterFile& file : appended.TakeFilterFilesBefore(position)) ids.push_back(file.file_id);
    return ids;
  }

  test::ManualClock clock;
  std::atomic<int> wakes = 0;
  AppendedRecords appended{clock, 1000, [this] { ++wakes; }, {{300, 7}, {400, 8}}};
  std::list<uint64_t> starts;
};

TEST_F(AppendedRecordsTest, AreTakenInOrderWithTheStartsOfSegments) {
  appended.Append(RecordNamed("a"));
  const uint64_t start = appended.BeginSegment();
  appended.Append(RecordNamed("b"));
  EXPECT_EQ(start, 1000 + Encoded(RecordNamed("a")).size());
  EXPECT_EQ(Take(), Encoded(RecordNamed("a")) + Encoded(RecordNamed("b")));
  EXPECT_THAT(starts, ElementsAre(start));
  EXPECT_EQ(appended.end(), 1000 + 2 * Encoded(RecordNamed("a")).size());
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_THAT(starts, ElementsAre(start));
}

TEST_F(AppendedRecordsTest, AChangeIsTheSameBytesAsItsRecord) {
  const size_t reserved = log::MaxChangeBytes(5);
  ASSERT_TRUE(appended.Reserve(reserved));
  AppendChange(9, reserved);
  EXPECT_EQ(Take(), Encoded(log::Changed{core::ChangeKind::kAdded, 1, 9, 0, {kHash}}));
}

TEST_F(AppendedRecordsTest, ARecordOfAnEntryIsAppendedWithTheOthersOrNotAtAll) {
  {
    AppendedRecords::Entry dropped(appended);
    dropped.Add(RecordNamed("dropped"));
  }
  AppendedRecords::Entry entry(appended);
  entry.Add(RecordNamed("a"));
  entry.Add(RecordNamed("b"));
  EXPECT_EQ(appended.end(), 1000u);
  entry.Append();
  EXPECT_EQ(Take(), Encoded(RecordNamed("a")) + Encoded(RecordNamed("b")));
}

// ---- room

TEST_F(AppendedRecordsTest, WhatIsReservedHasRoomInTheBufferThatIsSwappedInToo) {
  constexpr size_t kReserved = 5 << 20;
  ASSERT_TRUE(appended.Reserve(kReserved));
  EXPECT_GE(Take().capacity(), kReserved);
  EXPECT_GE(Take().capacity(), kReserved);
}

TEST_F(AppendedRecordsTest, ASmallerBufferTakesItsPlaceUnlessMoreIsReserved) {
  ASSERT_TRUE(appended.Reserve(5 << 20));
  appended.Release(5 << 20);
  std::string small;
  small.reserve(1 << 20);
  appended.Take(small, starts);
  EXPECT_GE(small.capacity(), size_t{5} << 20);
  EXPECT_LT(appended.Capacity(), size_t{2} << 20);

  ASSERT_TRUE(appended.Reserve(3 << 20));
  const size_t capacity = appended.Capacity();
  std::string too_small;
  too_small.reserve(1 << 20);
  appended.Take(too_small, starts);
  EXPECT_EQ(appended.Capacity(), capacity);
  AppendChange(1, 3 << 20);
  EXPECT_EQ(Take(), Encoded(log::Changed{core::ChangeKind::kAdded, 1, 1, 0, {kHash}}));
  std::string tiny;
  appended.Take(tiny, starts);
  EXPECT_EQ(appended.Capacity(), capacity) << "it would have to grow again at once";
}

TEST_F(AppendedRecordsTest, RoomThatIsReleasedOrNotUsedIsReservedAgain) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(appended.Reserve(1 << 20));
    appended.Release(1 << 20);
    ASSERT_TRUE(appended.Reserve(1 << 20));
    AppendChange(1, 1 << 20);
    AppendedRecords::Entry dropped(appended);
    dropped.Add(RecordNamed(std::string(1 << 20, 'n')));
  }
  EXPECT_LT(Take().capacity(), size_t{5} << 20);
}

TEST_F(AppendedRecordsTest, RoomIsFreeAgainOnceTheRecordsAreTaken) {
  for (int i = 0; i < 100; ++i) {
    appended.Append(RecordNamed(std::string(1 << 20, 'n')));
    EXPECT_LT(Take().capacity(), size_t{5} << 20);
  }
}

// ---- the reader

TEST_F(AppendedRecordsTest, TheFirstAppendWakesAnIdleReader) {
  appended.Append(RecordNamed("a"));
  EXPECT_EQ(wakes, 0);
  appended.SetReaderIdle(true);
  appended.Append(RecordNamed("b"));
  appended.Append(RecordNamed("c"));
  EXPECT_EQ(wakes, 1);
  appended.SetReaderIdle(true);
  appended.SetReaderIdle(false);
  appended.Append(RecordNamed("d"));
  EXPECT_EQ(wakes, 1);
}

TEST_F(AppendedRecordsTest, AreAsOldAsTheFirstOfThem) {
  appended.Append(RecordNamed("a"));
  clock.now_ms += 20;
  appended.Append(RecordNamed("b"));
  EXPECT_EQ(appended.age().Ms(), 20);
  Take();
  EXPECT_EQ(appended.age().Ms(), 20);
  appended.age().ClearTaken();
  EXPECT_EQ(appended.age().Ms(), 0);
}

// Every record of every thread is taken, once, and a thread's records are in their order.
TEST_F(AppendedRecordsTest, ManyThreadsAppendWhileOneTakes) {
  constexpr int kThreads = 4, kEach = 2000;
  std::string all;
  std::atomic<int> left = kThreads;
  {
    std::vector<std::jthread> threads;
    for (uint64_t id = 1; id <= kThreads; ++id) {
      threads.emplace_back([&, id] {
        for (uint64_t sequence = 1; sequence <= kEach; ++sequence) {
          const size_t reserved = log::MaxChangeBytes(1);
          ASSERT_TRUE(appended.Reserve(reserved));
          appended.Append(core::Change{core::ChangeKind::kAdded, id, sequence, 0, std::span(&kHash, 1)}, reserved);
        }
        --left;
      });
    }
    while (left != 0) {
      std::string records;
      if (all.size() % 3 == 0) records.reserve(AppendedRecords::kLeastBytes);  // a smaller one, in between
      appended.Take(records, starts);
      all += records;
    }
  }
  all += Take();
  EXPECT_EQ(appended.end(), 1000 + all.size());
  std::vector<uint64_t> last(kThreads + 1);
  std::string_view rest = all;
  for (log::Record record; !rest.empty();) {
    ASSERT_TRUE(log::Decode(rest, record));
    const auto& change = std::get<log::Changed>(record);
    EXPECT_EQ(change.sequence, ++last[change.id]);
  }
  EXPECT_THAT(last, ElementsAre(0, kEach, kEach, kEach, kEach));
}

// ---- filter files

TEST_F(AppendedRecordsTest, TheFilesOfRecordsBeforeAPositionAreHandedOutOnce) {
  AppendImage(9);
  const uint64_t start = appended.BeginSegment();
  AppendImage(10);
  EXPECT_THAT(TakeFilesBefore(300), IsEmpty());
  EXPECT_THAT(TakeFilesBefore(301), ElementsAre(7));
  EXPECT_THAT(TakeFilesBefore(start), ElementsAre(8, 9));
  EXPECT_THAT(TakeFilesBefore(appended.end()), ElementsAre(10));
  EXPECT_THAT(TakeFilesBefore(appended.end()), IsEmpty());
}

TEST_F(AppendedRecordsTest, FilesThatArePutBackAreHandedOutAgain) {
  std::list<log::FilterFile> files = appended.TakeFilterFilesBefore(400);
  appended.PutBackFilterFiles(files);
  EXPECT_THAT(TakeFilesBefore(500), ElementsAre(7, 8));
}

TEST_F(AppendedRecordsTest, TheFileOfAnEntryThatIsDroppedIsNotKnown) {
  {
    AppendedRecords::Entry dropped(appended);
    dropped.Add(log::Image{.id = 1, .sequence = 0, .file_id = 9, .seal = {}});
  }
  EXPECT_THAT(TakeFilesBefore(UINT64_MAX), ElementsAre(7, 8));
}

}  // namespace
}  // namespace bitsieve::server
