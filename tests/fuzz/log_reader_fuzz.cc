// For any bytes in the segments of a log, reading them ends with a value: no crash, no hang, no record that cannot be
// written again; and a log that was read means the same once a new segment begins at its end.
//
// The first byte chooses what the rest is; two segments are split where the second byte puts it, in 256ths:
//   bit 0  two segments, the second beginning where the first one's readable records end, or (bit 1) elsewhere
//   bit 2  the checksums are corrected, as an attacker would; otherwise nothing gets past them
//   bit 3  reading begins within the log
//   bit 4  the rest is no file but the records of one frame
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/persistence/log/log_reader.h"
#include "tests/support/log_checksums.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::server {
namespace {

constexpr char kDirectory[] = "/d/log";

void Require(bool holds) {
  if (!holds) std::abort();
}

struct Ways {
  bool two_segments;
  bool elsewhere;
  bool repaired;
  bool later;
  bool records;
};

std::string PathOf(uint64_t start) { return kDirectory + ("/" + LogFileName(start)); }

// The result of reading a log: positions and records in order, and where it ended.
struct Told {
  std::string records;
  LogScan scan;
};

Told Read(const MemoryDisk& disk, uint64_t from) {
  Told told;
  uint64_t expected = from;
  const auto scan = ReadLog(disk, ListLog(disk, kDirectory).value(), from,
                            [&](uint64_t position, const log::Record& record) -> core::Status {
                              Require(position >= expected);
                              const size_t before = told.records.size();
                              log::Encode(record, told.records);
                              expected = position + (told.records.size() - before);
                              return {};
                            });
  if (!scan) {
    Require(scan.error().code == core::ErrorCode::kUnsupported);
    return told;
  }
  Require(scan->end >= from && (told.records.empty() || scan->end == expected));
  Require(!scan->torn || !scan->damage);
  told.scan = *scan;
  return told;
}

// Continuing after a torn end gives the same records, and no torn end any more.
void GoOn(MemoryDisk& disk, uint64_t from, const Told& told) {
  if (told.scan.damage || told.scan.end == 0) return;
  auto writer = LogSegmentWriter::Create(disk, kDirectory, told.scan.end);
  Require(writer.has_value());
  std::string flushed;
  log::Encode(log::Flushed{}, flushed);
  Require(writer->Append(flushed, writer->end()).has_value());
  const Told again = Read(disk, from);
  Require(!again.scan.damage && !again.scan.torn && again.records == told.records + flushed);
}

void PutFile(MemoryDisk& disk, uint64_t start, std::string_view bytes, const Ways& ways) {
  std::string segment(bytes);
  if (ways.repaired) test::PutLogChecksums(segment);
  disk.Put(PathOf(start), segment);
}

void Try(uint8_t way, uint8_t cut, std::string_view input) {
  const Ways ways{(way & 1) != 0, (way & 2) != 0, (way & 4) != 0, (way & 8) != 0, (way & 16) != 0};
  MemoryDisk disk;
  Require(disk.CreateDirectory("/d") && disk.CreateDirectory(kDirectory));
  if (ways.records) {
    auto writer = LogSegmentWriter::Create(disk, kDirectory, 0, 7);
    if (!input.empty()) Require(writer && writer->Append(input.substr(0, kFrameBytes), 0));
  } else {
    const size_t first = ways.two_segments ? input.size() * cut / 256 : input.size();
    PutFile(disk, 0, input.substr(0, first), ways);
    if (ways.two_segments) {
      const uint64_t end = Read(disk, 0).scan.end;
      const uint64_t start = ways.elsewhere ? cut : end;
      if (start != 0) PutFile(disk, start, input.substr(first), ways);
    }
  }
  const uint64_t from = ways.later ? cut : 0;
  GoOn(disk, from, Read(disk, from));
}

}  // namespace
}  // namespace bitsieve::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  bitsieve::server::Try(data[0], data[1], std::string_view(reinterpret_cast<const char*>(data) + 2, size - 2));
  return 0;
}
