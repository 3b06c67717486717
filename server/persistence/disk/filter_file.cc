#include "server/persistence/disk/filter_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/out_of_memory.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::server {
namespace {

constexpr size_t kPrefixBytes = 2 * sizeof(uint32_t);  // lengths of the name and of the image's header

core::Result<std::string> EncodePrefix(const std::string& path, std::string_view name, const std::string& header) {
  if (name.size() > std::numeric_limits<uint32_t>::max() || header.size() > kMaxImageHeaderBytes) {
    return core::Fail(core::ErrorCode::kInvalidArgument, path + ": a name of " + std::to_string(name.size()) +
                                                             " bytes with a header of " +
                                                             std::to_string(header.size()) + " bytes cannot be stored");
  }
  std::string prefix;
  core::ByteWriter writer(prefix);
  writer.Put(static_cast<uint32_t>(name.size()));
  writer.Put(static_cast<uint32_t>(header.size()));
  return prefix;
}

// The image goes straight into the chunk that is checksummed and written: one copy.
core::Status WriteBody(CheckedFileWriter& writer, core::FilterImage& image) {
  for (uint64_t offset = 0; offset < image.body_bytes();) {
    const std::span<std::byte> room = writer.Room();
    if (core::Status status = image.Read(offset, room); !status) return status;
    if (core::Status status = writer.Commit(room.size()); !status) return status;
    offset += room.size();
  }
  return {};
}

// The core's error about an image, prefixed with the file's name.
tl::unexpected<core::Error> Located(const CheckedFileReader& reader, const std::string& path, core::Error error) {
  if (error.code == core::ErrorCode::kCorrupt) return reader.Corrupt(error.message);
  return core::Fail(error.code, path + ": " + error.message);
}

core::Result<CheckedFileReader> OpenSealed(const Disk& disk, const std::string& path, const FileSeal& seal,
                                           ChunkBuffer& buffer) {
  core::Result<CheckedFileReader> reader = CheckedFileReader::Open(disk, path, kFilterFileFormat, buffer);
  if (reader && reader->file_bytes() != seal.bytes) {
    return reader->Corrupt("is " + std::to_string(reader->file_bytes()) + " bytes long, but the manifest says " +
                           std::to_string(seal.bytes));
  }
  return reader;
}

// Returns the header of the image; the name before it is skipped.
core::Result<std::string> ReadHeader(CheckedFileReader& reader) {
  std::byte bytes[kPrefixBytes];
  core::Status status = reader.Read(bytes);
  if (!status) return tl::unexpected(std::move(status.error()));
  core::ByteReader fields(core::AsText(bytes));
  const auto name_bytes = fields.Get<uint32_t>();
  const auto header_bytes = fields.Get<uint32_t>();
  if (header_bytes > kMaxImageHeaderBytes) {
    return reader.Corrupt("an image header of " + std::to_string(header_bytes) + " bytes; at most " +
                          std::to_string(kMaxImageHeaderBytes) + " are allowed");
  }
  std::string header(header_bytes, '\0');
  status = reader.Skip(name_bytes);
  if (status) status = reader.Read(std::as_writable_bytes(std::span(header)));
  if (!status) return tl::unexpected(std::move(status.error()));
  return header;
}

core::Status CheckSeal(const std::string& path, const FileSeal& found, const FileSeal& expected) {
  if (found == expected) return {};
  return core::Fail(core::ErrorCode::kCorrupt,
                    path + ": intact, but not the file that the manifest refers to: it was exchanged");
}

}  // namespace

core::Result<FileSeal> WriteFilterFile(Disk& disk, const std::string& path, std::string_view name,
                                       core::FilterImage& image, uint32_t chunk_bytes, ChunkBuffer& buffer) {
  const core::Result<std::string> prefix = EncodePrefix(path, name, image.header());
  if (!prefix) return tl::unexpected(prefix.error());
  const uint64_t payload_bytes = prefix->size() + name.size() + image.header().size() + image.body_bytes();
  core::Result<CheckedFileWriter> writer =
      CheckedFileWriter::Create(disk, path, kFilterFileFormat, payload_bytes, chunk_bytes, buffer);
  if (!writer) return tl::unexpected(std::move(writer.error()));
  core::Status status = writer->Append(*prefix);
  if (status) status = writer->Append(name);
  if (status) status = writer->Append(image.header());
  if (status) status = WriteBody(*writer, image);
  if (!status) return tl::unexpected(std::move(status.error()));
  return writer->Finish();
}

core::Result<std::unique_ptr<core::Filter>> ReadFilterFile(const Disk& disk, const std::string& path,
                                                           const FileSeal& seal, core::MemoryBudget& budget,
                                                           const core::Clock& clock, ChunkBuffer& buffer) {
  auto reader = FilterFileReader::Open(disk, path, seal, budget, clock, buffer);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  (*reader)->Read(buffer);
  return (*reader)->Finish();
}

core::Result<std::unique_ptr<FilterFileReader>> FilterFileReader::Open(const Disk& disk, const std::string& path,
                                                                       const FileSeal& seal, core::MemoryBudget& budget,
                                                                       const core::Clock& clock, ChunkBuffer& buffer) {
  core::Result<CheckedFileReader> file = OpenSealed(disk, path, seal, buffer);
  if (!file) return tl::unexpected(std::move(file.error()));
  core::Result<std::string> header = ReadHeader(*file);
  if (!header) return tl::unexpected(std::move(header.error()));
  core::Result<std::unique_ptr<core::FilterDecoder>> decoder = core::FilterDecoder::Open(*header, budget, clock);
  if (!decoder) return Located(*file, path, std::move(decoder.error()));
  if ((*decoder)->body_bytes() != file->remaining()) {
    return file->Corrupt("the body has " + std::to_string(file->remaining()) + " bytes, but its header needs " +
                         std::to_string((*decoder)->body_bytes()));
  }
  std::unique_ptr<FilterFileReader> reader(new FilterFileReader(std::move(*file), path, seal, std::move(*decoder)));
  if (core::Status status = reader->ReadFirst(); !status) return tl::unexpected(std::move(status.error()));
  return reader;
}

FilterFileReader::FilterFileReader(CheckedFileReader file, std::string path, const FileSeal& seal,
                                   std::unique_ptr<core::FilterDecoder> decoder)
    : file_(std::move(file)), path_(std::move(path)), seal_(seal), decoder_(std::move(decoder)) {}

// Reads the rest of the chunk that the header ends in, so that whole chunks remain.
core::Status FilterFileReader::ReadFirst() {
  if (decoder_->Room(0).empty()) return {};  // Finish reads all in order
  body_begin_ = file_.payload_bytes() - file_.remaining();
  const core::Result<std::span<const std::byte>> bytes = file_.Next(file_.remaining());
  if (!bytes) return tl::unexpected(bytes.error());
  decoder_->Put(0, *bytes);
  checksums_.resize(file_.chunks_left());
  return {};
}

void FilterFileReader::Read(ChunkBuffer& buffer) {
  for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < checksums_.size();) {
    core::Status status = core::OrOutOfMemory([&] { return ReadChunk(i, buffer); });
    if (status) continue;
    next_.store(checksums_.size(), std::memory_order_relaxed);  // the rest need not be read
    const core::LockGuard lock(mutex_);
    if (error_ && error_index_ < i) continue;
    error_ = std::move(status.error());
    error_index_ = i;
  }
}

// Reads the chunk straight into the filter's memory if it belongs into one contiguous range of it.
core::Status FilterFileReader::ReadChunk(size_t index, ChunkBuffer& buffer) {
  const CheckedFileReader::Chunk chunk = file_.ChunkLeft(index);
  const uint64_t offset = chunk.payload_offset - body_begin_;
  const std::span<std::byte> room = decoder_->Room(offset);
  const bool straight = room.size() >= chunk.bytes;
  if (!straight && buffer.size() < chunk.bytes) buffer.resize(chunk.bytes);
  const std::span<std::byte> out = (straight ? room : std::span(buffer)).first(chunk.bytes);
  const core::Result<uint64_t> checksum = file_.ReadChunk(chunk, out, [&](uint64_t done, uint64_t bytes) {
    if (straight) decoder_->Commit(offset + done, bytes);
  });
  if (!checksum) return tl::unexpected(checksum.error());
  checksums_[index] = *checksum;
  if (!straight) decoder_->Put(offset, out);
  return {};
}

// For filter types whose body must be read in order.
core::Status FilterFileReader::ReadRest() {
  while (file_.remaining() != 0) {
    const core::Result<std::span<const std::byte>> bytes = file_.Next(file_.remaining());
    if (!bytes) return tl::unexpected(bytes.error());
    core::Status status = decoder_->Append(*bytes);
    if (!status) return Located(file_, path_, std::move(status.error()));
  }
  return {};
}

core::Result<std::unique_ptr<core::Filter>> FilterFileReader::Finish() {
  {
    const core::LockGuard lock(mutex_);
    if (error_) return tl::unexpected(std::move(*error_));
  }
  if (checksums_.empty()) {
    if (core::Status status = ReadRest(); !status) return tl::unexpected(std::move(status.error()));
  } else {
    file_.PassChunks(checksums_);
  }
  const core::Result<FileSeal> found = file_.Finish();
  core::Status status = found ? CheckSeal(path_, *found, seal_) : core::Status(tl::unexpected(found.error()));
  if (!status) return tl::unexpected(std::move(status.error()));
  core::Result<std::unique_ptr<core::Filter>> filter = decoder_->Finish();
  if (!filter) return Located(file_, path_, std::move(filter.error()));
  return filter;
}

core::Result<FilterFileHead> ReadFilterFileHead(const Disk& disk, const std::string& path, const FileSeal& seal,
                                                ChunkBuffer& buffer) {
  core::Result<CheckedFileReader> reader = OpenSealed(disk, path, seal, buffer);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  core::Result<std::string> header = ReadHeader(*reader);
  if (!header) return tl::unexpected(std::move(header.error()));
  return FilterFileHead{std::move(*header), reader->remaining()};
}

core::Status VerifyFilterFile(const Disk& disk, const std::string& path, const FileSeal& seal, ChunkBuffer& buffer) {
  core::Result<CheckedFileReader> reader = OpenSealed(disk, path, seal, buffer);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  core::Status status = reader->Skip(reader->remaining());
  if (!status) return status;
  const core::Result<FileSeal> found = reader->Finish();
  return found ? CheckSeal(path, *found, seal) : tl::unexpected(found.error());
}

}  // namespace bitsieve::server
