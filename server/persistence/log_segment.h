// log_segment.h: a file of the log: a head that says where in the log it begins, then frames, each with what came
// together: records, whole ones. docs/formats/log.md has the byte tables.
//
// A position counts the bytes of all records ever logged, heads of files and frames left out. So it stays the same when
// the same records are written again to another file, which is how a failed write is mended: the next segment begins
// at the last position known to be durable, and what the one before it has beyond counts for nothing.
//
// Each frame also says up to which position the log was durable when it was written. That tells a torn end, which a
// crash leaves and which may be cut, from damage: what is unreadable below a position that a later frame knows to be
// durable was there once.
//
// LogSegmentWriter and LogSegmentReader are thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "server/persistence/disk.h"

namespace bitsieve::server {

inline constexpr std::string_view kLogMagic = "BSLOGSEG";
inline constexpr uint32_t kLogVersion = 1;
inline constexpr uint32_t kMaxFrameBytes = 16U << 20;  // of records in one frame

class LogSegmentWriter {
 public:
  // Makes the file, its head, and both durable (`directory` is synced too).
  static core::Result<LogSegmentWriter> Create(Disk& disk, const std::string& directory, uint64_t start);

  // A frame of whole records, at most kMaxFrameBytes; `durable`: the position up to which the log is durable by now.
  core::Status Append(std::string_view records, uint64_t durable);
  core::Status Sync();
  uint64_t start() const { return start_; }
  // Position behind all that was appended.
  uint64_t end() const { return end_; }
  const std::string& path() const { return path_; }

 private:
  LogSegmentWriter(std::unique_ptr<WritableFile> file, std::string path, uint64_t start);

  std::unique_ptr<WritableFile> file_;
  std::string path_;
  uint64_t start_;
  uint64_t end_;
  std::string frame_;  // reused
};

}  // namespace bitsieve::server
