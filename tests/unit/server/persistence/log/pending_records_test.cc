#include "server/persistence/log/pending_records.h"

#include <gtest/gtest.h>

#include "server/persistence/log/log_segment.h"
#include "tests/support/log_fixture.h"

namespace bitsieve::server {
namespace {

struct PendingRecordsTest : testing::Test {
  // Returns the record's bytes.
  std::string Append(const std::string& name) {
    appended.Append(log::Unnamed{name});
    return Encoded(log::Unnamed{name});
  }

  AppendedRecords appended{core::SystemClock(), 1000, [] {}};
  PendingRecords pending{1000};
};

TEST_F(PendingRecordsTest, AreAllThatWasTakenSinceWhatWasDropped) {
  const std::string a = Append("a");
  pending.Take(appended);
  const std::string b = Append("bb");
  EXPECT_EQ(pending.end(), 1000 + a.size());
  pending.Take(appended);
  EXPECT_EQ(pending.begin(), 1000u);
  EXPECT_EQ(pending.end(), appended.end());
  EXPECT_EQ(pending.FrameAt(pending.begin(), pending.end()), a + b);

  pending.DropBefore(1000 + a.size());
  EXPECT_EQ(pending.begin(), 1000 + a.size());
  EXPECT_EQ(pending.bytes(), b.size());
  EXPECT_EQ(pending.FrameAt(pending.begin(), pending.end()), b);
  pending.DropBefore(1000);
  EXPECT_EQ(pending.begin(), 1000 + a.size());
}

TEST_F(PendingRecordsTest, AFrameBeginsAndEndsWhereItIsToldTo) {
  const std::string a = Append("a"), b = Append("bb"), c = Append("ccc");
  pending.Take(appended);
  const uint64_t after_a = 1000 + a.size(), after_b = after_a + b.size();
  EXPECT_EQ(pending.FrameAt(after_a, after_b), b);
  EXPECT_EQ(pending.FrameAt(after_a, pending.end()), b + c);
}

TEST_F(PendingRecordsTest, AFrameHasWholeRecordsUntilItIsLargeEnough) {
  const std::string half(kFrameBytes / 2 + 1, 'h');
  const std::string first = Append(half), second = Append(half), third = Append("c");
  pending.Take(appended);
  EXPECT_EQ(pending.FrameAt(1000, pending.end()), first + second);
  EXPECT_EQ(pending.FrameAt(1000 + first.size(), pending.end()), second + third);
}

TEST_F(PendingRecordsTest, AFrameEndsWhereASegmentIsToBegin) {
  const std::string a = Append("a");
  const uint64_t start = appended.BeginSegment();
  const std::string b = Append("bb");
  pending.Take(appended);
  EXPECT_EQ(pending.FrameAt(1000, pending.end()), a);
  EXPECT_EQ(pending.FrameAt(start, pending.end()), b);
}

TEST_F(PendingRecordsTest, StartsOfSegmentsAreKeptInOrderUntilASegmentBeginsThere) {
  EXPECT_EQ(pending.next_start(), std::nullopt);
  EXPECT_EQ(pending.UpToNextStart(5000), 5000u);
  Append("a");
  const uint64_t first = appended.BeginSegment();
  appended.BeginSegment();
  Append("b");
  const uint64_t second = appended.BeginSegment();
  pending.Take(appended);
  EXPECT_EQ(pending.next_start(), first);
  EXPECT_EQ(pending.UpToNextStart(first - 1), first - 1);
  EXPECT_EQ(pending.UpToNextStart(5000), first);
  pending.DropStartsUpTo(first - 1);
  EXPECT_EQ(pending.next_start(), first);
  pending.DropStartsUpTo(first);
  EXPECT_EQ(pending.next_start(), second);
  pending.DropStartsUpTo(second);
  EXPECT_EQ(pending.next_start(), std::nullopt);
}

// Takes a few records again and again, as a log does that is never idle.
TEST_F(PendingRecordsTest, TheMemoryOfABurstIsGivenBackWhileTheLogIsInUse) {
  EXPECT_FALSE(pending.HasSpareMemory(appended));
  for (int i = 0; i < 30; ++i) Append(std::string(1 << 20, 'n'));
  pending.Take(appended);
  EXPECT_GT(appended.Capacity(), size_t{30} << 20) << "what is swapped in has as much room";
  std::string kept = Append("kept");
  pending.Take(appended);
  pending.DropBefore(pending.end() - kept.size());
  pending.GiveBackMemory();
  EXPECT_TRUE(pending.HasSpareMemory(appended)) << "the burst was in the time that it looked back at";
  for (int looks = 0; looks < 3; ++looks) {
    for (int i = 0; i < 3; ++i) {
      kept += Append(std::to_string(i));
      pending.Take(appended);
    }
    pending.GiveBackMemory();
  }
  EXPECT_FALSE(pending.HasSpareMemory(appended));
  EXPECT_EQ(pending.FrameAt(pending.begin(), pending.end()), kept);
}

TEST_F(PendingRecordsTest, MemoryThatIsNeededTimeAndAgainIsKept) {
  size_t capacity = 0;
  for (int looks = 0; looks < 5; ++looks) {
    for (int i = 0; i < 8; ++i) Append(std::string(1 << 20, 'n'));
    pending.Take(appended);
    pending.DropBefore(pending.end());
    pending.Take(appended);  // nothing
    pending.GiveBackMemory();
    if (looks == 1) capacity = appended.Capacity();
  }
  EXPECT_GT(capacity, size_t{8} << 20);
  EXPECT_EQ(appended.Capacity(), capacity);
}

}  // namespace
}  // namespace bitsieve::server
