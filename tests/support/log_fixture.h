// log_fixture.h: records of every type, and small logs of them on a disk in memory.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "server/persistence/log/log_reader.h"
#include "server/persistence/log/log_record.h"
#include "server/persistence/log/log_segment.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::server {

inline const std::string kLogDirectory = "/d/log";

inline std::string Encoded(const log::Record& record) {
  std::string bytes;
  log::Encode(record, bytes);
  return bytes;
}

inline std::string Encoded(std::span<const log::Record> records) {
  std::string bytes;
  for (const log::Record& record : records) log::Encode(record, bytes);
  return bytes;
}

// The life of a filter `fruit`: at least one record of every type.
inline std::vector<log::Record> SampleRecords() {
  core::FilterParams params;
  params.type = core::kBlockedType;
  params.capacity = 10;
  params.seed = 7;
  return {log::Made{1, params},
          log::Named{"fruit", 1, 1893456000000},
          log::Changed{core::ChangeKind::kAdded, 1, 1, 0, {{0x1111, 0x2222}, {0x3333, 0x4444}}},
          log::Changed{core::ChangeKind::kAdded, 2, 5, 1700000000123, {{0x5555, 0x6666}}},
          log::Changed{core::ChangeKind::kRemoved, 3, 9, 0, {{0x7777, 0x8888}}},
          log::Image{1, 2, 4, {233, 0xf4d95929}},
          log::Freezing{1},
          log::Renamed{"fruit", std::string("f\0\xff", 3)},
          log::Expiry{std::string("f\0\xff", 3), 0},
          log::Unnamed{""},
          log::Flushed{},
          log::Changed{core::ChangeKind::kRewritten, 1, 3, 0, {}},
          log::Content{1, 3, "head", "body"},
          log::Changed{core::ChangeKind::kFalsePositives, 1, 4, 0, {{0x9999, 0xAAAA}}},
          log::Changed{core::ChangeKind::kAdded, 4, 1, 1700000000123, {{0xBBBB, 0xCCCC}}, 1700000060123},
          log::Changed{core::ChangeKind::kRenewed, 4, 2, 1700000000456, {{0xBBBB, 0xCCCC}}, 1700000060456},
          log::Changed{core::ChangeKind::kRemoved, 4, 3, 1700000000789, {{0xBBBB, 0xCCCC}}}};
}

// Everything that a reading returned, to be compared at once.
struct ReadBack {
  std::vector<uint64_t> positions;
  std::vector<std::string> records;  // encoded again
  LogScan scan;
};

// Segments as they came to be, one file after the other.
class TestLog {
 public:
  TestLog() { EXPECT_TRUE(disk.CreateDirectory("/d") && disk.CreateDirectory(kLogDirectory)); }

  LogSegmentWriter Begin(uint64_t start) {
    return std::move(LogSegmentWriter::Create(disk, kLogDirectory, start, start + 99).value());
  }
  std::vector<LogFile> Files() const { return ListLog(disk, kLogDirectory).value(); }
  static std::string PathOf(uint64_t start) { return kLogDirectory + "/" + LogFileName(start); }

  core::Result<LogScan> Read(uint64_t from, const VisitRecord& visit) const {
    return ReadLog(disk, Files(), from, visit);
  }
  ReadBack Read(uint64_t from = 0) const {
    ReadBack back;
    const auto scan = Read(from, [&](uint64_t position, const log::Record& record) -> core::Status {
      back.positions.push_back(position);
      back.records.push_back(Encoded(record));
      return {};
    });
    EXPECT_TRUE(scan.has_value()) << scan.error().message;
    if (scan) back.scan = *scan;
    return back;
  }

  MemoryDisk disk;
};

}  // namespace bitsieve::server
