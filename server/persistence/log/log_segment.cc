#include "server/persistence/log/log_segment.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "server/persistence/log/log_current.h"

namespace bitsieve::server {
namespace {

using core::kChecksumBytes;

constexpr std::string_view kLogSuffix = ".log";
constexpr size_t kPositionDigits = 20;  // of the largest position there is
constexpr size_t kCopiedBytes = 32 * 1024;
constexpr size_t kSegmentChecksumOffset = kLogHeadBytes - kChecksumBytes;
constexpr size_t kFrameChecksumOffset = kLogFrameHeadBytes - kChecksumBytes;

std::string EncodeHead(uint64_t start, uint64_t salt) {
  std::string head;
  core::ByteWriter writer(head);
  writer.PutBytes(kLogMagic);
  writer.Put(kLogVersion);
  writer.Put(start);
  writer.Put(salt);
  writer.Put(core::Checksum(head));
  return head;
}

// Returns the checksum of the salt and of a frame's head, except for the checksum itself.
uint64_t SaltedChecksum(std::string_view fields, uint64_t salt) {
  char bytes[kFrameChecksumOffset + sizeof salt];
  std::memcpy(bytes, fields.data(), kFrameChecksumOffset);
  std::memcpy(bytes + kFrameChecksumOffset, &salt, sizeof salt);
  return core::Checksum({bytes, sizeof bytes});
}

}  // namespace

std::string LogFileName(uint64_t start) {
  const std::string digits = std::to_string(start);
  return std::string(kPositionDigits - digits.size(), '0') + digits + std::string(kLogSuffix);
}

std::optional<uint64_t> LogFileStart(std::string_view file_name) {
  uint64_t start = 0;
  std::from_chars(file_name.data(), file_name.data() + file_name.size(), start);
  // A name that is not reproduced exactly (signs, letters, another length, overflow) is not ours.
  return LogFileName(start) == file_name ? std::optional(start) : std::nullopt;
}

bool IsTemporaryLogFile(std::string_view file_name) {
  if (!file_name.ends_with(kTemporarySuffix)) return false;
  file_name.remove_suffix(kTemporarySuffix.size());
  return file_name == kLogCurrentName || LogFileStart(file_name).has_value();
}

core::Result<LogSegmentWriter> LogSegmentWriter::Prepare(Disk& disk, const std::string& directory, uint64_t start,
                                                         uint64_t salt) {
  std::string path = directory + "/" + LogFileName(start) + std::string(kTemporarySuffix);
  core::Result<std::unique_ptr<WritableFile>> file = disk.Create(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  core::Status status = (*file)->Write(EncodeHead(start, salt));
  if (status) status = (*file)->Sync();
  if (!status) return tl::unexpected(std::move(status.error()));
  return LogSegmentWriter(std::move(*file), std::move(path), start, salt);
}

core::Status LogSegmentWriter::Rename(Disk& disk) {
  std::string path = path_.substr(0, path_.size() - kTemporarySuffix.size());
  core::Status status = disk.Rename(path_, path);
  if (status) path_ = std::move(path);
  return status;
}

core::Status LogSegmentWriter::MakeCurrent(Disk& disk, const std::string& directory) const {
  core::Status status = disk.SyncDirectory(directory);
  if (status) status = WriteLogCurrent(disk, directory, start_);
  return status;
}

core::Result<LogSegmentWriter> LogSegmentWriter::Create(Disk& disk, const std::string& directory, uint64_t start,
                                                        uint64_t salt) {
  core::Result<LogSegmentWriter> segment = Prepare(disk, directory, start, salt);
  if (!segment) return segment;
  core::Status status = segment->Rename(disk);
  if (status) status = segment->MakeCurrent(disk, directory);
  if (!status) return tl::unexpected(std::move(status.error()));
  return segment;
}

LogSegmentWriter::LogSegmentWriter(std::unique_ptr<WritableFile> file, std::string path, uint64_t start, uint64_t salt)
    : file_(std::move(file)), path_(std::move(path)), start_(start), end_(start), salt_(salt) {}

core::Status LogSegmentWriter::Append(std::string_view records, uint64_t durable) {
  assert(!records.empty() && records.size() <= UINT32_MAX && durable <= end_);
  frame_.clear();
  core::ByteWriter writer(frame_);
  writer.Put(static_cast<uint32_t>(records.size()));
  writer.Put(end_);
  writer.Put(durable);
  writer.Put(core::Checksum(records));
  writer.Put(SaltedChecksum(frame_, salt_));
  // Writes a short frame in one call, and a long one without a copy.
  const bool is_short = records.size() <= kCopiedBytes;
  if (is_short) writer.PutBytes(records);
  core::Status status = file_->Write(frame_);
  if (status && !is_short) status = file_->Write(records);
  if (status) end_ += records.size();
  return status;
}

core::Result<LogSegmentReader> LogSegmentReader::Open(const Disk& disk, const std::string& path, uint64_t start) {
  core::Result<std::unique_ptr<ReadableFile>> file = disk.Open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  return LogSegmentReader(std::move(*file), path, start);
}

core::Status LogSegmentReader::ReadHead() {
  if (size() < kLogHeadBytes) {
    return Corrupt(0, "the file is " + std::to_string(size()) + " bytes long, shorter than the head of a log segment");
  }
  const core::Result<std::string_view> head = window_.Look(0, kLogHeadBytes);
  if (!head) return tl::unexpected(head.error());
  core::ByteReader fields(*head);
  const std::string_view magic = fields.GetBytes(kLogMagic.size());
  const auto version = fields.Get<uint32_t>();
  const auto start = fields.Get<uint64_t>();
  salt_ = fields.Get<uint64_t>();
  if (magic != kLogMagic) return Corrupt(0, "does not start with BSLOGSEG, so it is not a log segment");
  // The checksum before the version: a changed byte is damage, not a newer format.
  if (fields.Get<uint64_t>() != core::Checksum(head->substr(0, kSegmentChecksumOffset))) {
    return Corrupt(0, "the head of the log segment fails its checksum");
  }
  if (version == 0 || version > kLogVersion) {
    return core::Fail(core::ErrorCode::kUnsupported,
                      path_ + ": is a log segment of version " + std::to_string(version) +
                          "; this server reads up to version " + std::to_string(kLogVersion));
  }
  if (start != start_) return Corrupt(0, "begins at position " + std::to_string(start) + ", not where its name says");
  return {};
}

// Impossible values are rejected before checksums are computed: in a search most bytes fail here.
std::optional<LogFrameHead> LogSegmentReader::ParseFrameHead(std::string_view bytes, uint64_t offset) const {
  core::ByteReader fields(bytes);
  LogFrameHead head;
  head.offset = offset;
  head.bytes = fields.Get<uint32_t>();
  head.position = fields.Get<uint64_t>();
  head.durable = fields.Get<uint64_t>();
  head.checksum = fields.Get<uint64_t>();
  if (head.position < start_ || head.position - start_ > size() || head.bytes == 0) return std::nullopt;
  if (head.durable > head.position || head.position > UINT64_MAX - head.bytes) return std::nullopt;
  if (fields.Get<uint64_t>() != SaltedChecksum(bytes, salt_)) return std::nullopt;
  return head;
}

core::Result<LogFrameHead> LogSegmentReader::ReadFrameHead(uint64_t offset) {
  const uint64_t left = size() - offset;
  if (left < kLogFrameHeadBytes) {
    return Corrupt(offset, "the file ends within the head of a frame, " + std::to_string(left) + " bytes after it");
  }
  const core::Result<std::string_view> bytes = window_.Look(offset, kLogFrameHeadBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  const std::optional<LogFrameHead> head = ParseFrameHead(*bytes, offset);
  if (!head) return Corrupt(offset, "the head of a frame fails its checksum");
  return *head;
}

core::Result<std::string_view> LogSegmentReader::ReadRecords(const LogFrameHead& frame) {
  if (frame.end_offset() > size()) {
    return Corrupt(frame.offset, "the file ends within a frame of " + std::to_string(frame.bytes) + " bytes");
  }
  // The view includes the head, which is in the window, so that the window need not move.
  core::Result<std::string_view> bytes = window_.Look(frame.offset, kLogFrameHeadBytes + frame.bytes);
  if (!bytes) return bytes;
  bytes->remove_prefix(kLogFrameHeadBytes);
  if (core::Checksum(*bytes) != frame.checksum) {
    return Corrupt(frame.offset, "a frame of " + std::to_string(frame.bytes) + " bytes fails its checksum");
  }
  return bytes;
}

core::Result<std::optional<LogFrameHead>> LogSegmentReader::FindFrame(uint64_t offset) {
  constexpr uint64_t kSearchBytes = 4096;  // few: the next frame most often follows at once, and the window stays
  while (offset < size() && size() - offset >= kLogFrameHeadBytes) {
    const auto bytes = static_cast<size_t>(std::min(kSearchBytes, size() - offset));
    const core::Result<std::string_view> view = window_.Look(offset, bytes);
    if (!view) return tl::unexpected(view.error());
    const size_t places = bytes - kLogFrameHeadBytes + 1;
    for (size_t at = 0; at < places; ++at) {
      const auto head = ParseFrameHead(view->substr(at, kLogFrameHeadBytes), offset + at);
      if (head) return head;
    }
    offset += places;
  }
  return std::nullopt;
}

tl::unexpected<core::Error> LogSegmentReader::Fail(core::ErrorCode code, uint64_t offset,
                                                   std::string_view reason) const {
  return core::Fail(code, path_ + ": at byte " + std::to_string(offset) + ": " + std::string(reason));
}

}  // namespace bitsieve::server
