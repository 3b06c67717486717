#include "server/persistence/log/log_segment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fault_disk.h"
#include "tests/support/log_fixture.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LogSegment, NamesSortAsPositionsDo) {
  EXPECT_EQ(LogFileName(0), "00000000000000000000.log");
  EXPECT_EQ(LogFileName(1234), "00000000000000001234.log");
  EXPECT_EQ(LogFileName(UINT64_MAX), "18446744073709551615.log");
  for (const uint64_t start : {uint64_t{0}, uint64_t{1234}, UINT64_MAX}) {
    EXPECT_EQ(LogFileStart(LogFileName(start)), start);
  }
  for (const char* name : {"", ".log", "1234.log", "00000000000000001234", "00000000000000001234.log.1",
                           "0000000000000000123x.log", "-0000000000000001234.log", "18446744073709551616.log",
                           "000000000000000001234.log", "99999999999999999999.log"}) {
    EXPECT_EQ(LogFileStart(name), std::nullopt) << name;
  }
}

TEST(LogSegment, IsDurableWithItsNameBeforeAFrameFollows) {
  TestLog log;
  FaultDisk disk(log.disk);
  auto writer = LogSegmentWriter::Create(disk, kLogDirectory, 1234);
  ASSERT_TRUE(Ok(writer));
  const std::string path = TestLog::PathOf(1234);
  EXPECT_EQ(writer->path(), path);
  const std::string made = path + ".tmp";
  const std::string current = kLogDirectory + "/CURRENT";
  EXPECT_THAT(disk.log(),
              ElementsAre("create " + made, "write " + made, "sync " + made, "rename " + made,
                          "sync directory " + kLogDirectory, "create " + current + ".tmp", "write " + current + ".tmp",
                          "sync " + current + ".tmp", "close " + current + ".tmp", "rename " + current + ".tmp",
                          "sync directory " + kLogDirectory));
  log.disk.LosePower(MemoryDisk::UnsyncedNames::kLost);
  EXPECT_EQ(log.disk.Get(path).size(), kLogHeadBytes);
}

TEST(LogSegment, EachFrameIsOneWriteAndMovesTheEnd) {
  TestLog log;
  FaultDisk disk(log.disk);
  auto writer = LogSegmentWriter::Create(disk, kLogDirectory, 1000);
  disk.SetFault({});
  ASSERT_TRUE(Ok(writer->Append("0123456789", 900)));
  EXPECT_EQ(writer->end(), 1010u);
  ASSERT_TRUE(Ok(writer->Sync()));
  EXPECT_THAT(disk.log(), ElementsAre("write " + writer->path() + ".tmp", "sync " + writer->path() + ".tmp"));
  EXPECT_EQ(log.disk.Get(writer->path()).size(), kLogHeadBytes + kLogFrameHeadBytes + 10);
}

TEST(LogSegment, WhatCouldNotBeWrittenDoesNotMoveTheEnd) {
  TestLog log;
  FaultDisk disk(log.disk);
  auto writer = LogSegmentWriter::Create(disk, kLogDirectory, 1000);
  disk.SetFault({1, Fault::Kind::kShortWrite});
  EXPECT_THAT(writer->Append("0123456789", 1000).error().message, HasSubstr("No space left on device"));
  EXPECT_EQ(writer->end(), 1000u);
}

TEST(LogSegment, EveryStepOfItsMakingMayFail) {
  for (uint64_t step = 1; step <= 10; ++step) {
    TestLog log;
    FaultDisk disk(log.disk);
    disk.SetFault({step, Fault::Kind::kFail});
    EXPECT_FALSE(LogSegmentWriter::Create(disk, kLogDirectory, 0).has_value()) << step;
    const ReadBack back = log.Read();
    EXPECT_EQ(back.scan.damage, std::nullopt) << "what is left of it is nothing, or a torn end";
    EXPECT_EQ(back.scan.end, 0u);
  }
}

TEST(LogSegment, TwoOfThemHaveDifferentSalts) {
  TestLog log;
  const auto head_of_new = [&log] {
    EXPECT_TRUE(Ok(LogSegmentWriter::Create(log.disk, kLogDirectory, 0)));
    return log.disk.Get(TestLog::PathOf(0));
  };
  EXPECT_NE(head_of_new(), head_of_new());
}

TEST(LogSegment, FramesLargeAndSmallAreReadThroughOneWindow) {
  TestLog log;
  auto writer = log.Begin(0);
  const std::vector<size_t> sizes{
      1, 100, 3 << 20, 7, kFrameBytes, kFrameBytes + 1, (1 << 20) - 36, (1 << 20) - 35, 1 << 20, 1};
  for (const size_t size : sizes) ASSERT_TRUE(Ok(writer.Append(std::string(size, static_cast<char>(size)), 0)));
  auto reader = LogSegmentReader::Open(log.disk, writer.path(), 0);
  ASSERT_TRUE(Ok(reader) && Ok(reader->ReadHead()));
  uint64_t offset = kLogHeadBytes;
  for (const size_t size : sizes) {
    const auto frame = reader->ReadFrameHead(offset);
    ASSERT_TRUE(Ok(frame));
    const auto records = reader->ReadRecords(*frame);
    ASSERT_TRUE(Ok(records));
    EXPECT_TRUE(*records == std::string(size, static_cast<char>(size))) << size;
    offset = frame->end_offset();
  }
  EXPECT_EQ(offset, reader->size());
  const auto found = reader->FindFrame(kLogHeadBytes + 1);
  ASSERT_TRUE(Ok(found));
  EXPECT_EQ((*found)->position, 1u) << "back to the first frames";
}

}  // namespace
}  // namespace bitsieve::server
