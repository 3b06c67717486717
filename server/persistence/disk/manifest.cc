#include "server/persistence/disk/manifest.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/bytes.h"

namespace bitsieve::server {
namespace {

// Bytes of an entry, except for its name.
constexpr uint64_t kEntryBytes = 7 * sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint8_t);
// Bytes of a pack, except for its bits.
constexpr uint64_t kPackEntryBytes = 3 * sizeof(uint64_t) + sizeof(uint32_t);
constexpr size_t kBitsPerByte = 8;

uint64_t BytesOfBits(uint64_t bits) { return bits / kBitsPerByte + (bits % kBitsPerByte != 0); }

void PutPack(core::ByteWriter& writer, const ManifestPack& pack) {
  writer.Put(pack.file_id);
  writer.Put(pack.seal.bytes);
  writer.Put(pack.seal.checksum);
  writer.Put(static_cast<uint32_t>(pack.live.size()));
  std::string bits(BytesOfBits(pack.live.size()), '\0');
  for (size_t i = 0; i < pack.live.size(); ++i) {
    if (pack.live[i]) bits[i / kBitsPerByte] |= static_cast<char>(1U << (i % kBitsPerByte));
  }
  writer.PutBytes(bits);
}

std::string EncodePayload(const Manifest& manifest) {
  std::string payload;
  core::ByteWriter writer(payload);
  writer.Put(manifest.snapshot_number);
  writer.Put(manifest.saved_unix_ms);
  writer.Put(manifest.log_position);
  writer.Put(manifest.next_file_id);
  writer.Put(manifest.next_filter_id);
  writer.Put(static_cast<uint8_t>(manifest.has_log));
  writer.Put(static_cast<uint64_t>(manifest.filters.size()));
  for (const ManifestEntry& entry : manifest.filters) {
    writer.Put(entry.file_id);
    writer.Put(entry.seal.bytes);
    writer.Put(entry.seal.checksum);
    writer.Put(entry.expires_unix_ms);
    writer.Put(entry.filter_id);
    writer.Put(entry.sequence);
    writer.Put(static_cast<uint8_t>(entry.freezing));
    writer.Put(entry.log_position);
    writer.PutString(entry.name);
  }
  writer.Put(static_cast<uint64_t>(manifest.packs.size()));
  for (const ManifestPack& pack : manifest.packs) PutPack(writer, pack);
  return payload;
}

uint64_t PayloadBytes(const Manifest& manifest) {
  uint64_t bytes = 7 * sizeof(uint64_t) + sizeof(uint8_t);
  for (const ManifestEntry& entry : manifest.filters) bytes += kEntryBytes + entry.name.size();
  for (const ManifestPack& pack : manifest.packs) bytes += kPackEntryBytes + BytesOfBits(pack.live.size());
  return bytes;
}

ManifestEntry GetEntry(core::ByteReader& reader) {
  ManifestEntry entry;
  entry.file_id = reader.Get<uint64_t>();
  entry.seal.bytes = reader.Get<uint64_t>();
  entry.seal.checksum = reader.Get<uint64_t>();
  entry.expires_unix_ms = reader.Get<int64_t>();
  entry.filter_id = reader.Get<uint64_t>();
  entry.sequence = reader.Get<uint64_t>();
  entry.freezing = reader.Get<uint8_t>() != 0;
  entry.log_position = reader.Get<uint64_t>();
  entry.name = reader.GetString();
  return entry;
}

ManifestPack GetPack(core::ByteReader& reader) {
  ManifestPack pack;
  pack.file_id = reader.Get<uint64_t>();
  pack.seal.bytes = reader.Get<uint64_t>();
  pack.seal.checksum = reader.Get<uint64_t>();
  const auto records = reader.Get<uint32_t>();
  const std::string_view bits = reader.GetBytes(BytesOfBits(records));
  if (!reader.ok()) return pack;
  pack.live.resize(records);
  for (size_t i = 0; i < records; ++i) {
    pack.live[i] = ((static_cast<unsigned char>(bits[i / kBitsPerByte]) >> (i % kBitsPerByte)) & 1U) != 0;
  }
  return pack;
}

bool AreNamesAscending(const std::vector<ManifestEntry>& entries) {
  const auto not_below = [](const ManifestEntry& a, const ManifestEntry& b) { return a.name >= b.name; };
  return std::adjacent_find(entries.begin(), entries.end(), not_below) == entries.end();
}

// Returns whether file ids are distinct, at least 1 and below the next one.
bool AreIdsValid(const Manifest& manifest) {
  if (manifest.next_file_id < 1 || manifest.next_file_id > kMaxFileId) return false;
  const std::vector<uint64_t> ids = FileIdsOf(manifest);
  const bool distinct = std::adjacent_find(ids.begin(), ids.end()) == ids.end();
  return distinct && (ids.empty() || (ids.front() >= 1 && ids.back() < manifest.next_file_id));
}

// Returns whether filter ids are distinct and below the next one, except for filters that have none.
bool AreFilterIdsValid(const Manifest& manifest) {
  if (manifest.next_filter_id < 1 || manifest.next_filter_id > kMaxFileId) return false;
  std::vector<uint64_t> ids;
  for (const ManifestEntry& entry : manifest.filters) {
    if (entry.filter_id >= manifest.next_filter_id) return false;
    if (entry.filter_id != 0) ids.push_back(entry.filter_id);
  }
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

bool AreExpiriesValid(const std::vector<ManifestEntry>& entries) {
  return std::none_of(entries.begin(), entries.end(),
                      [](const ManifestEntry& each) { return each.expires_unix_ms < 0; });
}

bool ArePositionsValid(const Manifest& manifest) {
  return std::none_of(manifest.filters.begin(), manifest.filters.end(),
                      [&](const ManifestEntry& each) { return each.log_position > manifest.log_position; });
}

// Reads a list of entries or packs, each at least `least_bytes` long.
template <class Each, class Get>
core::Status GetList(const CheckedFileReader& file, core::ByteReader& reader, const std::string& what,
                     uint64_t least_bytes, std::vector<Each>& list, const Get& get) {
  const auto count = reader.Get<uint64_t>();
  if (!reader.ok() || count > reader.remaining() / least_bytes) {
    return file.Corrupt("lists " + std::to_string(count) + " " + what + ", more than its length can hold");
  }
  list.reserve(count);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) list.push_back(get());
  return reader.ok() ? core::Status() : file.Corrupt("ends within its list of " + what);
}

core::Result<Manifest> DecodePayload(const CheckedFileReader& file, std::string_view payload) {
  core::ByteReader reader(payload);
  Manifest manifest;
  manifest.snapshot_number = reader.Get<uint64_t>();
  manifest.saved_unix_ms = reader.Get<int64_t>();
  manifest.log_position = reader.Get<uint64_t>();
  manifest.next_file_id = reader.Get<uint64_t>();
  manifest.next_filter_id = reader.Get<uint64_t>();
  manifest.has_log = reader.Get<uint8_t>() != 0;
  core::Status status =
      GetList(file, reader, "filters", kEntryBytes, manifest.filters, [&] { return GetEntry(reader); });
  if (status) {
    status = GetList(file, reader, "packs", kPackEntryBytes, manifest.packs, [&] { return GetPack(reader); });
  }
  if (!status) return tl::unexpected(std::move(status.error()));
  if (!reader.AtEnd()) return file.Corrupt("has bytes after its last list");
  if (!AreNamesAscending(manifest.filters)) return file.Corrupt("the names of its filters do not ascend");
  if (!AreExpiriesValid(manifest.filters)) return file.Corrupt("the expiry of a filter lies before 1970");
  if (!ArePositionsValid(manifest)) return file.Corrupt("a filter needs the log from a position after the log's own");
  if (!AreIdsValid(manifest)) return file.Corrupt("its file ids contradict each other");
  if (!AreFilterIdsValid(manifest)) return file.Corrupt("its filter ids contradict each other");
  return manifest;
}

}  // namespace

std::vector<uint64_t> FileIdsOf(const Manifest& manifest) {
  std::vector<uint64_t> ids;
  ids.reserve(manifest.filters.size() + manifest.packs.size());
  for (const ManifestEntry& entry : manifest.filters) ids.push_back(entry.file_id);
  for (const ManifestPack& pack : manifest.packs) ids.push_back(pack.file_id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

uint64_t LogBeginOf(const Manifest& manifest) {
  uint64_t begin = manifest.log_position;
  for (const ManifestEntry& entry : manifest.filters) begin = std::min(begin, entry.log_position);
  return begin;
}

core::Status WriteManifest(Disk& disk, const std::string& path, const Manifest& manifest, ChunkBuffer& buffer) {
  if (const uint64_t bytes = PayloadBytes(manifest); bytes > kMaxManifestBytes) {
    return core::Fail(core::ErrorCode::kInvalidArgument,
                      path + ": the names of " + std::to_string(manifest.filters.size()) + " filters take " +
                          std::to_string(bytes) + " bytes; a manifest holds at most " +
                          std::to_string(kMaxManifestBytes));
  }
  const std::string payload = EncodePayload(manifest);
  core::Result<CheckedFileWriter> writer =
      CheckedFileWriter::Create(disk, path, kManifestFormat, payload.size(), kDefaultChunkBytes, buffer);
  if (!writer) return tl::unexpected(std::move(writer.error()));
  if (core::Status status = writer->Append(payload); !status) return status;
  if (core::Result<FileSeal> seal = writer->Finish(); !seal) return tl::unexpected(std::move(seal.error()));
  return {};
}

core::Result<Manifest> ReadManifest(const Disk& disk, const std::string& path, ChunkBuffer& buffer) {
  core::Result<CheckedFileReader> reader = CheckedFileReader::Open(disk, path, kManifestFormat, buffer);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  if (reader->remaining() > kMaxManifestBytes) {
    return reader->Corrupt("is larger than the " + std::to_string(kMaxManifestBytes) + " bytes a manifest may have");
  }
  std::string payload;  // grows with what was verified, not by the head's length field
  while (reader->remaining() != 0) {
    const core::Result<std::span<const std::byte>> bytes = reader->Next(reader->remaining());
    if (!bytes) return tl::unexpected(bytes.error());
    payload.append(core::AsText(*bytes));
  }
  if (core::Result<FileSeal> seal = reader->Finish(); !seal) return tl::unexpected(std::move(seal.error()));
  return DecodePayload(*reader, payload);
}

}  // namespace bitsieve::server
