// log_reader.h: the segments of a log, in order, record by record, with a distinct outcome for each kind of damage.
// Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "server/persistence/disk/disk.h"
#include "server/persistence/log/log_record.h"
#include "server/persistence/log/log_segment.h"

namespace bitsieve::server {

struct LogFile {
  std::string path;
  uint64_t start = 0;  // position of its first record, from its name
};

// The names in a directory, in ascending order; none if there is no such directory in the one it would be in.
core::Result<std::vector<std::string>> ListIfThere(const Disk& disk, const std::string& directory);

// The segments in the directory, by ascending start; none if there is no such directory. Files of other names are left
// alone.
core::Result<std::vector<LogFile>> ListLog(const Disk& disk, const std::string& directory);

// Where reading ended before the end of the bytes.
struct LogCut {
  std::string path;
  uint64_t offset = 0;      // in the file: the first byte that does not count
  uint64_t position = 0;    // of the log
  uint64_t lost_bytes = 0;  // from there on, in this file and in all later ones
  // Readable records after it, which are not used: what a truncation would lose beyond what is already lost.
  uint64_t lost_records = 0;
  std::string reason;  // names file and offset
};

struct LogScan {
  uint64_t end = 0;  // position after the last record that counts; `from` if there is none
  uint64_t records = 0;
  uint64_t bytes = 0;          // of the files read
  std::optional<LogCut> torn;  // an end that a crash left: cut
  // Bytes that were durable once and cannot be read now. Nothing after them counts.
  std::optional<LogCut> damage;
  // The newest segment is not there, with its name. What it held is lost.
  std::optional<std::string> missing;

  bool is_damaged() const { return damage || missing; }
};

using VisitRecord = std::function<core::Status(uint64_t position, const log::Record& record)>;

// Visits the records from position `from` on; what lies before is in a snapshot, and the log may well end before it. An
// error is the disk's (kIo), that of a file of a newer version (kUnsupported), or the visitor's own, prefixed with file
// and offset. Damage is not an error here: the scan reports it. A segment is missing if none begins where one before it
// ends: damage too, unless that lies below `from`. A visitor's kCorrupt is damage as well: its record does not count.
//
// What was cut off stays in its file. It counts for nothing as soon as a segment begins at the scan's `end`; segments
// that begin beyond it, which only damage leaves, must be out of the way before.
//
// `newest` is where the newest segment begins, by CURRENT; a log without CURRENT has none. Then a segment that has no
// whole head is damaged, and so is an end that is torn before the newest segment. Without `newest` and without any file
// nothing is missing. Needs the memory of one frame.
core::Result<LogScan> ReadLog(const Disk& disk, const std::vector<LogFile>& files, uint64_t from,
                              const VisitRecord& visit, std::optional<uint64_t> newest = std::nullopt);

// Removes segments that lie wholly below the position, oldest first, but never the last one. A file that cannot be
// removed is left for the next time; returns file and reason for each.
std::vector<std::string> RemoveLogBefore(Disk& disk, const std::string& directory, uint64_t position);

}  // namespace bitsieve::server
