#include "server/persistence/filter_file.h"

#include <limits>
#include <span>
#include <utility>

#include "core/base/bytes.h"
#include "core/filters/filter_factory.h"

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

// What the core says of an image, with the file's name before it.
tl::unexpected<core::Error> Located(const CheckedFileReader& reader, const std::string& path, core::Error error) {
  if (error.code == core::ErrorCode::kCorrupt) return reader.Corrupt(error.message);
  return core::Fail(error.code, path + ": " + error.message);
}

core::Result<CheckedFileReader> OpenSealed(const Disk& disk, const std::string& path, const FileSeal& seal,
                                           ChunkBuffer& buffer) {
  core::Result<CheckedFileReader> reader = CheckedFileReader::Open(disk, path, kFilterFileFormat, buffer);
  if (reader && reader->file_bytes() != seal.bytes) {
    return reader->Corrupt("is " + std::to_string(reader->file_bytes()) + " bytes long, the manifest says " +
                           std::to_string(seal.bytes));
  }
  return reader;
}

// Of the image; the name before it is passed over.
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

core::Status ReadBody(CheckedFileReader& reader, const std::string& path, core::FilterDecoder& decoder) {
  while (reader.remaining() != 0) {
    const core::Result<std::span<const std::byte>> bytes = reader.Next(reader.remaining());
    if (!bytes) return tl::unexpected(bytes.error());
    if (core::Status status = decoder.Append(*bytes); !status) return Located(reader, path, std::move(status.error()));
  }
  return {};
}

core::Status CheckSeal(const std::string& path, const FileSeal& found, const FileSeal& expected) {
  if (found == expected) return {};
  return core::Fail(core::ErrorCode::kCorrupt, path + ": whole, but not the file that the manifest means: exchanged");
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
  core::Result<CheckedFileReader> reader = OpenSealed(disk, path, seal, buffer);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  core::Result<std::string> header = ReadHeader(*reader);
  if (!header) return tl::unexpected(std::move(header.error()));
  core::Result<std::unique_ptr<core::FilterDecoder>> decoder = core::FilterDecoder::Open(*header, budget, clock);
  if (!decoder) return Located(*reader, path, std::move(decoder.error()));
  if ((*decoder)->body_bytes() != reader->remaining()) {
    return reader->Corrupt("a body of " + std::to_string(reader->remaining()) + " bytes, its header needs " +
                           std::to_string((*decoder)->body_bytes()));
  }
  core::Status status = ReadBody(*reader, path, **decoder);
  if (status) {
    const core::Result<FileSeal> found = reader->Finish();
    status = found ? CheckSeal(path, *found, seal) : core::Status(tl::unexpected(found.error()));
  }
  if (!status) return tl::unexpected(std::move(status.error()));
  core::Result<std::unique_ptr<core::Filter>> filter = (*decoder)->Finish();
  if (!filter) return Located(*reader, path, std::move(filter.error()));
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

}  // namespace bitsieve::server
