#include "server/persistence/disk/checked_file.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace bitsieve::server {
namespace {

constexpr uint64_t kNumberBytes = sizeof(uint64_t);
// A chunk is read in parts of this length, so that each is checksummed before it has left the processor's cache.
constexpr size_t kPieceBytes = 256 << 10;
constexpr size_t kHeadChecksumOffset = kCheckedHeadBytes - kNumberBytes;

std::string_view AsText(std::span<const std::byte> bytes) { return core::AsText(bytes); }

uint64_t Chained(uint64_t chain, uint64_t checksum) {
  std::string both;
  core::ByteWriter writer(both);
  writer.Put(chain);
  writer.Put(checksum);
  return core::Checksum(both);
}

uint64_t NumberAt(std::span<const std::byte> bytes) {
  uint64_t number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

// Grows the buffer, but never shrinks it: the next file may need the room again.
void EnsureSize(ChunkBuffer& buffer, size_t bytes) {
  if (buffer.size() < bytes) buffer.resize(bytes);
}

}  // namespace

uint64_t CheckedFileBytes(uint64_t payload_bytes, uint32_t chunk_bytes) {
  const uint64_t chunks = payload_bytes / chunk_bytes + (payload_bytes % chunk_bytes != 0);
  return kCheckedHeadBytes + payload_bytes + chunks * kNumberBytes + kNumberBytes;
}

core::Result<CheckedFileWriter> CheckedFileWriter::Create(Disk& disk, const std::string& path, const FileFormat& format,
                                                          uint64_t payload_bytes, uint32_t chunk_bytes,
                                                          ChunkBuffer& buffer) {
  assert(chunk_bytes >= 1 && chunk_bytes <= kMaxChunkBytes);
  core::Result<std::unique_ptr<WritableFile>> file = disk.Create(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  CheckedFileWriter writer(std::move(*file), payload_bytes, chunk_bytes, buffer);
  writer.WriteHead(format);
  return writer;
}

CheckedFileWriter::CheckedFileWriter(std::unique_ptr<WritableFile> file, uint64_t payload_bytes, uint32_t chunk_bytes,
                                     ChunkBuffer& buffer)
    : file_(std::move(file)), buffer_(&buffer), chunk_bytes_(chunk_bytes), missing_(payload_bytes) {
  // Room for the head before a first chunk, and for the chain after a last one: a small file is one write.
  const uint64_t chunk = std::min<uint64_t>(chunk_bytes, payload_bytes);
  EnsureSize(buffer, kCheckedHeadBytes + chunk + 2 * kNumberBytes);
}

void CheckedFileWriter::WriteHead(const FileFormat& format) {
  std::string head;
  core::ByteWriter writer(head);
  assert(format.magic.size() == kMagicBytes);
  writer.PutBytes(format.magic);
  writer.Put(format.version);
  writer.Put(chunk_bytes_);
  writer.Put(missing_);
  chain_ = core::Checksum(head);
  writer.Put(chain_);
  std::memcpy(buffer_->data(), head.data(), head.size());
  used_ = chunk_begin_ = head.size();
}

std::span<std::byte> CheckedFileWriter::Room() {
  const uint64_t left = chunk_bytes_ - (used_ - chunk_begin_);
  return std::span(*buffer_).subspan(used_, std::min(left, missing_));
}

core::Status CheckedFileWriter::Commit(size_t bytes) {
  assert(bytes <= Room().size());
  if (bytes == 0) return {};
  used_ += bytes;
  missing_ -= bytes;
  const bool full = used_ - chunk_begin_ == chunk_bytes_;
  if (full || missing_ == 0) CloseChunk();
  return missing_ != 0 && full ? Flush() : core::Status();
}

core::Status CheckedFileWriter::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> room = Room();
    const size_t size = std::min(room.size(), bytes.size());
    assert(size != 0);
    std::memcpy(room.data(), bytes.data(), size);
    if (const core::Status status = Commit(size); !status) return status;
    bytes.remove_prefix(size);
  }
  return {};
}

core::Result<FileSeal> CheckedFileWriter::Finish() {
  assert(missing_ == 0);
  PutNumber(chain_);
  core::Status status = Flush();
  if (status) status = file_->Sync();
  if (status) status = file_->Close();
  if (!status) return tl::unexpected(std::move(status.error()));
  return FileSeal{file_bytes_, chain_};
}

void CheckedFileWriter::PutNumber(uint64_t number) {
  std::memcpy(buffer_->data() + used_, &number, sizeof number);
  used_ += sizeof number;
}

void CheckedFileWriter::CloseChunk() {
  const uint64_t checksum = core::Checksum(AsText(std::span(*buffer_).subspan(chunk_begin_, used_ - chunk_begin_)));
  PutNumber(checksum);
  chain_ = Chained(chain_, checksum);
}

core::Status CheckedFileWriter::Flush() {
  const core::Status status = file_->Write(AsText(std::span(*buffer_).first(used_)));
  file_bytes_ += used_;
  used_ = chunk_begin_ = 0;
  return status;
}

core::Result<CheckedFileReader> CheckedFileReader::Open(const Disk& disk, const std::string& path,
                                                        const FileFormat& format, ChunkBuffer& buffer) {
  core::Result<std::unique_ptr<ReadableFile>> file = disk.Open(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  CheckedFileReader reader(std::move(*file), path, buffer);
  if (core::Status status = reader.ReadHead(format); !status) return tl::unexpected(std::move(status.error()));
  return reader;
}

CheckedFileReader::CheckedFileReader(std::unique_ptr<ReadableFile> file, std::string path, ChunkBuffer& buffer)
    : file_(std::move(file)), path_(std::move(path)), buffer_(&buffer) {}

core::Status CheckedFileReader::ReadHead(const FileFormat& format) {
  if (file_->size() < CheckedFileBytes(0, 1)) {
    return Corrupt("is " + std::to_string(file_->size()) + " bytes long, shorter than any " + std::string(format.name));
  }
  std::byte bytes[kCheckedHeadBytes];
  if (core::Status status = file_->ReadAt(0, bytes); !status) return status;
  const std::string_view head = AsText(bytes);
  core::ByteReader fields(head);
  if (fields.GetBytes(kMagicBytes) != format.magic) {
    return Corrupt("does not start with " + std::string(format.magic) + ", so it is not a " + std::string(format.name));
  }
  const auto version = fields.Get<uint32_t>();
  chunk_bytes_ = fields.Get<uint32_t>();
  missing_ = payload_bytes_ = fields.Get<uint64_t>();
  chain_ = fields.Get<uint64_t>();
  // The checksum before the version: a changed byte is damage, not a newer format.
  if (chain_ != core::Checksum(head.substr(0, kHeadChecksumOffset))) return Corrupt("the head fails its checksum");
  if (version == 0 || version > format.version) {
    return core::Fail(core::ErrorCode::kUnsupported,
                      path_ + ": is a " + std::string(format.name) + " of version " + std::to_string(version) +
                          "; this server reads up to version " + std::to_string(format.version));
  }
  if (chunk_bytes_ == 0 || chunk_bytes_ > kMaxChunkBytes) {
    return Corrupt("chunks of " + std::to_string(chunk_bytes_) + " bytes; 1 to " + std::to_string(kMaxChunkBytes) +
                   " are allowed");
  }
  offset_ = chunk_offset_ = kCheckedHeadBytes;
  return CheckLength(missing_);
}

core::Status CheckedFileReader::CheckLength(uint64_t payload_bytes) const {
  const uint64_t size = file_->size();
  // The first comparison keeps the sum in the second one from overflowing.
  if (payload_bytes <= size && CheckedFileBytes(payload_bytes, chunk_bytes_) == size) return {};
  return core::Fail(core::ErrorCode::kCorrupt, path_ + ": is " + std::to_string(size) +
                                                   " bytes long, not what its head says for a payload of " +
                                                   std::to_string(payload_bytes) + " bytes: cut off or overwritten");
}

core::Status CheckedFileReader::LoadChunk() {
  const auto size = static_cast<size_t>(std::min<uint64_t>(chunk_bytes_, missing_));
  EnsureSize(*buffer_, size + kNumberBytes);
  const std::span<std::byte> bytes = std::span(*buffer_).first(size + kNumberBytes);
  if (core::Status status = file_->ReadAt(offset_, bytes); !status) return status;
  chunk_offset_ = offset_;
  const uint64_t checksum = core::Checksum(AsText(bytes.first(size)));
  if (checksum != NumberAt(bytes.subspan(size))) return CorruptChunk(offset_, size);
  chain_ = Chained(chain_, checksum);
  chunk_rest_ = bytes.first(size);
  missing_ -= size;
  offset_ += bytes.size();
  return {};
}

core::Result<std::span<const std::byte>> CheckedFileReader::Next(uint64_t max) {
  if (chunk_rest_.empty() && missing_ != 0) {
    if (core::Status status = LoadChunk(); !status) return tl::unexpected(std::move(status.error()));
  }
  const auto bytes = chunk_rest_.first(static_cast<size_t>(std::min<uint64_t>(max, chunk_rest_.size())));
  chunk_rest_ = chunk_rest_.subspan(bytes.size());
  return bytes;
}

CheckedFileReader::Chunk CheckedFileReader::ChunkLeft(uint64_t index) const {
  const uint64_t skipped = index * chunk_bytes_;
  Chunk chunk;
  chunk.offset = offset_ + skipped + index * kNumberBytes;
  chunk.payload_offset = payload_bytes_ - missing_ + skipped;
  chunk.bytes = std::min<uint64_t>(chunk_bytes_, missing_ - skipped);
  return chunk;
}

core::Result<uint64_t> CheckedFileReader::ReadChunk(const Chunk& chunk, std::span<std::byte> out,
                                                    const PieceObserver& observe) const {
  assert(out.size() == chunk.bytes);
  core::RunningChecksum checksum;
  for (size_t done = 0; done < out.size();) {
    const auto piece = out.subspan(done, std::min(kPieceBytes, out.size() - done));
    if (core::Status status = file_->ReadAt(chunk.offset + done, piece); !status) {
      return tl::unexpected(std::move(status.error()));
    }
    checksum.Add(AsText(piece));
    observe(done, piece.size());
    done += piece.size();
  }
  std::byte number[kNumberBytes];
  if (core::Status status = file_->ReadAt(chunk.offset + chunk.bytes, number); !status) {
    return tl::unexpected(std::move(status.error()));
  }
  if (checksum.Value() != NumberAt(number)) return CorruptChunk(chunk.offset, chunk.bytes);
  return checksum.Value();
}

void CheckedFileReader::PassChunks(std::span<const uint64_t> checksums) {
  assert(checksums.size() == chunks_left());
  for (const uint64_t checksum : checksums) chain_ = Chained(chain_, checksum);
  offset_ += missing_ + checksums.size() * kNumberBytes;
  missing_ = 0;
}

core::Status CheckedFileReader::CheckRemaining(uint64_t bytes) const {
  if (bytes <= remaining()) return {};
  return Corrupt("a field of " + std::to_string(bytes) + " bytes, but only " + std::to_string(remaining()) +
                 " are left");
}

core::Status CheckedFileReader::Read(std::span<std::byte> out) {
  if (core::Status status = CheckRemaining(out.size()); !status) return status;
  while (!out.empty()) {
    const auto bytes = Next(out.size());
    if (!bytes) return tl::unexpected(bytes.error());
    std::memcpy(out.data(), bytes->data(), bytes->size());
    out = out.subspan(bytes->size());
  }
  return {};
}

core::Status CheckedFileReader::Skip(uint64_t bytes) {
  if (core::Status status = CheckRemaining(bytes); !status) return status;
  while (bytes != 0) {
    const auto skipped = Next(bytes);
    if (!skipped) return tl::unexpected(skipped.error());
    bytes -= skipped->size();
  }
  return {};
}

core::Result<FileSeal> CheckedFileReader::Finish() {
  if (remaining() != 0) return Corrupt("has " + std::to_string(remaining()) + " bytes after its last field");
  std::byte end[kNumberBytes];
  if (core::Status status = file_->ReadAt(offset_, end); !status) return tl::unexpected(std::move(status.error()));
  chunk_offset_ = offset_;
  if (NumberAt(end) != chain_) return Corrupt("the chain of checksums is broken");
  return FileSeal{file_->size(), chain_};
}

tl::unexpected<core::Error> CheckedFileReader::Corrupt(std::string_view reason) const {
  return CorruptAt(chunk_offset_, reason);
}

tl::unexpected<core::Error> CheckedFileReader::CorruptAt(uint64_t offset, std::string_view reason) const {
  return core::Fail(core::ErrorCode::kCorrupt,
                    path_ + ": at byte " + std::to_string(offset) + ": " + std::string(reason));
}

tl::unexpected<core::Error> CheckedFileReader::CorruptChunk(uint64_t offset, uint64_t bytes) const {
  return CorruptAt(offset, "the chunk of " + std::to_string(bytes) + " bytes fails its checksum");
}

}  // namespace bitsieve::server
