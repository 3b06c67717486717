// log_segment.h: a file of the log: a head with the position where it begins, then frames. Each frame has the whole
// records that were written together. docs/formats/log.md has the byte tables.
//
// A position counts the bytes of all records ever logged, without the heads of files and frames. So it stays the same
// when the same records are written again to another file, which is how a failed write is repaired: the next segment
// begins at the last position known to be durable, and anything beyond it in the previous segment is ignored.
//
// Each frame also records up to which position the log was durable when it was written. That distinguishes a torn end,
// which a crash leaves and which may be cut, from damage: bytes that are unreadable below a position that a later frame
// records as durable were there once.
//
// Names in the records are arbitrary bytes from clients. So that none of them can pass for a frame in a search for
// readable frames after an unreadable one, each file has a random salt that goes into the checksums of its frames'
// heads.
//
// LogSegmentWriter and LogSegmentReader are thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/filter_params.h"
#include "server/persistence/disk/disk.h"
#include "server/persistence/disk/file_window.h"

namespace bitsieve::server {

inline constexpr std::string_view kLogMagic = "BSLOGSEG";
inline constexpr uint32_t kLogVersion = 1;
// Suffix that a file's name has while the file is being made.
inline constexpr std::string_view kTemporarySuffix = ".tmp";
inline constexpr uint64_t kLogHeadBytes = 36;       // of a file
inline constexpr uint64_t kLogFrameHeadBytes = 36;  // of a frame
// A frame takes further records until it has this many bytes of them.
inline constexpr uint32_t kFrameBytes = 4U << 20;

// "00000000000000001234.log": names sort as positions do.
std::string LogFileName(uint64_t start);
// Returns nothing for a name that LogFileName does not make.
std::optional<uint64_t> LogFileStart(std::string_view file_name);
// Returns whether the name is that of an unfinished segment or CURRENT, which a crash may leave.
bool IsTemporaryLogFile(std::string_view file_name);

class LogSegmentWriter {
 public:
  // Makes the file with its head under a temporary name, durable. `directory` is there.
  static core::Result<LogSegmentWriter> Prepare(Disk& disk, const std::string& directory, uint64_t start,
                                                uint64_t salt = core::RandomSeed());
  // Gives the file its name. All before `start` must be durable by then: a reader takes the file as proof that it is. A
  // segment that begins at `start` is replaced.
  core::Status Rename(Disk& disk);
  // Makes the name durable, and lets CURRENT name it, durably too. May run concurrently with Append.
  core::Status MakeCurrent(Disk& disk, const std::string& directory) const;
  // Calls all three.
  static core::Result<LogSegmentWriter> Create(Disk& disk, const std::string& directory, uint64_t start,
                                               uint64_t salt = core::RandomSeed());

  // Writes a frame of whole records, at least one (see kFrameBytes); `durable`: the position up to which the log is
  // durable by now. After an error the file's end is unknown, and this writer must not be used again.
  core::Status Append(std::string_view records, uint64_t durable);
  core::Status Sync() { return file_->Sync(); }
  uint64_t start() const { return start_; }
  // Returns the position after all that was appended.
  uint64_t end() const { return end_; }
  const std::string& path() const { return path_; }

 private:
  LogSegmentWriter(std::unique_ptr<WritableFile> file, std::string path, uint64_t start, uint64_t salt);

  std::unique_ptr<WritableFile> file_;
  std::string path_;
  uint64_t start_;
  uint64_t end_;
  uint64_t salt_;
  std::string frame_;  // reused
};

// The place of a frame's records. Its checksum was verified, so it can be trusted, though the records may be damaged.
struct LogFrameHead {
  uint64_t offset = 0;    // in the file, of the head
  uint32_t bytes = 0;     // of the records
  uint64_t position = 0;  // of the first one
  uint64_t durable = 0;   // the log was so up to here when the frame was written; not above `position`
  uint64_t checksum = 0;  // of the records

  uint64_t end_offset() const { return offset + kLogFrameHeadBytes + bytes; }
};

// Needs the memory of one frame. Errors name the file, and the offset where they have one; kCorrupt for bytes that are
// not valid, after a crash or damage: the reader can still be used then.
class LogSegmentReader {
 public:
  // `start`: the position in the file's name.
  static core::Result<LogSegmentReader> Open(const Disk& disk, const std::string& path, uint64_t start);

  uint64_t size() const { return window_.size(); }
  // Call before anything else. kUnsupported for a newer version.
  core::Status ReadHead();
  // Returns the head of the frame at `offset`, which lies after the file's head and within the file.
  core::Result<LogFrameHead> ReadFrameHead(uint64_t offset);
  // Returns the frame's records, verified. Valid until the next call.
  core::Result<std::string_view> ReadRecords(const LogFrameHead& frame);
  // Returns the first frame at or after `offset` whose head is valid, wherever it begins. Works also in a file whose
  // own head is not valid, as long as its salt is right.
  core::Result<std::optional<LogFrameHead>> FindFrame(uint64_t offset);

  // Returns an error about this file: "PATH: at byte N: reason".
  tl::unexpected<core::Error> Fail(core::ErrorCode code, uint64_t offset, std::string_view reason) const;
  tl::unexpected<core::Error> Corrupt(uint64_t offset, std::string_view reason) const {
    return Fail(core::ErrorCode::kCorrupt, offset, reason);
  }

 private:
  LogSegmentReader(std::unique_ptr<ReadableFile> file, std::string path, uint64_t start)
      : window_(std::move(file)), path_(std::move(path)), start_(start) {}
  std::optional<LogFrameHead> ParseFrameHead(std::string_view bytes, uint64_t offset) const;

  FileWindow window_;
  std::string path_;
  uint64_t start_;
  uint64_t salt_ = 0;
};

}  // namespace bitsieve::server
