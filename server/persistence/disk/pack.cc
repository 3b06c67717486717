#include "server/persistence/disk/pack.h"

#include <cassert>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/base/quote.h"

namespace bitsieve::server {
namespace {

using core::kChecksumBytes;

constexpr uint64_t kHeadBytes = kCheckedHeadBytes;
constexpr uint64_t kLineBytes = sizeof(uint32_t) + sizeof(uint64_t);
// Bytes of a record, except for name, header and body.
constexpr uint64_t kFieldBytes = 3 * sizeof(uint64_t) + sizeof(uint8_t) + 2 * sizeof(uint32_t);
// More bytes of records than a builder ever makes: its last record may begin just below kPackBytes.
constexpr uint64_t kMaxRecordsBytes = kPackBytes + kMaxPackedBytes;

void PutFields(std::string& out, const PackedFilter& packed, const std::string& header) {
  core::ByteWriter writer(out);
  writer.Put(packed.expires_unix_ms);
  writer.Put(packed.filter_id);
  writer.Put(packed.sequence);
  writer.Put(static_cast<uint8_t>(packed.freezing));
  writer.Put(static_cast<uint32_t>(packed.name.size()));
  writer.Put(static_cast<uint32_t>(header.size()));
  writer.PutBytes(packed.name);
  writer.PutBytes(header);
}

// Returns false if the record is cut short.
bool GetFields(std::string_view bytes, PackedFilter& packed) {
  core::ByteReader reader(bytes);
  packed.expires_unix_ms = reader.Get<int64_t>();
  packed.filter_id = reader.Get<uint64_t>();
  packed.sequence = reader.Get<uint64_t>();
  packed.freezing = reader.Get<uint8_t>() != 0;
  const auto name_bytes = reader.Get<uint32_t>();
  const auto header_bytes = reader.Get<uint32_t>();
  packed.name = reader.GetBytes(name_bytes);
  packed.header = reader.GetBytes(header_bytes);
  packed.body = reader.GetBytes(reader.remaining());
  return reader.ok();
}

std::string About(const PackedFilter& packed) { return " (filter " + core::PrintableName(packed.name) + ")"; }

}  // namespace

uint64_t PackedBytes(std::string_view name, const core::FilterImage& image) {
  return kFieldBytes + name.size() + image.header().size() + image.body_bytes();
}

core::Result<uint32_t> PackBuilder::Add(const PackedFilter& packed, core::FilterImage& image) {
  assert(PackedBytes(packed.name, image) <= kMaxPackedBytes);
  const size_t begin = records_.size();
  PutFields(records_, packed, image.header());
  const size_t body = records_.size();
  records_.resize(body + image.body_bytes());
  const auto room = std::as_writable_bytes(std::span(records_)).subspan(body);
  if (core::Status status = image.Read(0, room); !status) {
    records_.resize(begin);
    return tl::unexpected(std::move(status.error()));
  }
  const std::string_view record = std::string_view(records_).substr(begin);
  table_.push_back({static_cast<uint32_t>(record.size()), core::Checksum(record)});
  return static_cast<uint32_t>(table_.size() - 1);
}

core::Result<FileSeal> PackBuilder::Write(Disk& disk, const std::string& path) const {
  std::string head;
  core::ByteWriter writer(head);
  writer.PutBytes(kPackFormat.magic);
  writer.Put(kPackFormat.version);
  writer.Put(static_cast<uint32_t>(table_.size()));
  writer.Put(static_cast<uint64_t>(records_.size()));
  writer.Put(core::Checksum(head));
  for (const Line& line : table_) {
    writer.Put(line.bytes);
    writer.Put(line.checksum);
  }
  const uint64_t checksum = core::Checksum(head);
  writer.Put(checksum);
  core::Result<std::unique_ptr<WritableFile>> file = disk.Create(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  core::Status status = (*file)->Write(head);
  if (status) status = (*file)->Write(records_);
  if (status) status = (*file)->Sync();
  if (status) status = (*file)->Close();
  if (!status) return tl::unexpected(std::move(status.error()));
  return FileSeal{head.size() + records_.size(), checksum};
}

void PackBuilder::Clear() {
  table_.clear();
  records_.clear();
}

core::Result<Pack> Pack::Read(const Disk& disk, const std::string& path, const FileSeal& seal, ChunkBuffer& buffer) {
  const core::Result<std::unique_ptr<ReadableFile>> file = disk.Open(path);
  if (!file) return tl::unexpected(file.error());
  const uint64_t size = (*file)->size();
  Pack pack(path);
  if (size < kHeadBytes) {
    return pack.Corrupt("is " + std::to_string(size) + " bytes long, shorter than any pack");
  }
  // Reads only the head first, since it bounds what is read then.
  std::byte head[kHeadBytes];
  if (core::Status status = (*file)->ReadAt(0, head); !status) return tl::unexpected(std::move(status.error()));
  pack.bytes_ = core::AsText(head);
  if (core::Status status = pack.ReadHead(seal); !status) return tl::unexpected(std::move(status.error()));
  if (size != seal.bytes) {
    return pack.Corrupt("is " + std::to_string(size) + " bytes long, but the manifest says " +
                        std::to_string(seal.bytes));
  }
  if (buffer.size() < size) buffer.resize(size);
  const std::span<std::byte> bytes = std::span(buffer).first(size);
  if (core::Status status = (*file)->ReadAt(0, bytes); !status) return tl::unexpected(std::move(status.error()));
  pack.bytes_ = core::AsText(bytes);
  if (core::Status status = pack.ReadTable(seal); !status) return tl::unexpected(std::move(status.error()));
  return pack;
}

core::Status Pack::ReadHead(const FileSeal& seal) {
  core::ByteReader fields(bytes_);
  if (fields.GetBytes(kMagicBytes) != kPackFormat.magic) {
    return Corrupt("does not start with " + std::string(kPackFormat.magic) + ", so it is not a pack");
  }
  const auto version = fields.Get<uint32_t>();
  const auto records = fields.Get<uint32_t>();
  const auto records_bytes = fields.Get<uint64_t>();
  // The checksum before the version: a changed byte is damage, not a newer format.
  if (fields.Get<uint64_t>() != core::Checksum(bytes_.substr(0, kHeadBytes - kChecksumBytes))) {
    return Corrupt("the head fails its checksum");
  }
  if (version == 0 || version > kPackFormat.version) {
    return core::Fail(core::ErrorCode::kUnsupported, path_ + ": is a pack of version " + std::to_string(version) +
                                                         "; this server reads up to version " +
                                                         std::to_string(kPackFormat.version));
  }
  if (records_bytes > kMaxRecordsBytes) {
    return Corrupt("records of " + std::to_string(records_bytes) + " bytes; a pack has at most " +
                   std::to_string(kMaxRecordsBytes));
  }
  if (seal.bytes != kHeadBytes + records * kLineBytes + kChecksumBytes + records_bytes ||
      records > records_bytes / kFieldBytes) {
    return Corrupt("has " + std::to_string(records) + " records of " + std::to_string(records_bytes) +
                   " bytes, which do not make the " + std::to_string(seal.bytes) + " bytes that the manifest says");
  }
  table_.resize(records);
  return {};
}

core::Status Pack::ReadTable(const FileSeal& seal) {
  const uint64_t covered = kHeadBytes + table_.size() * kLineBytes;
  core::ByteReader reader(bytes_.substr(kHeadBytes));
  uint64_t offset = covered + kChecksumBytes;
  for (Line& line : table_) {
    line.offset = offset;
    line.bytes = reader.Get<uint32_t>();
    line.checksum = reader.Get<uint64_t>();
    offset += line.bytes;
  }
  const uint64_t checksum = core::Checksum(bytes_.substr(0, covered));
  if (reader.Get<uint64_t>() != checksum) return Corrupt("the table of its records fails its checksum");
  if (checksum != seal.checksum)
    return Corrupt("intact, but not the file that the manifest refers to: it was exchanged");
  if (offset != bytes_.size()) return Corrupt("its records are not as long as the file has room for");
  return {};
}

core::Result<PackedFilter> Pack::Record(uint32_t record) const {
  const Line& line = table_[record];
  const std::string_view bytes = bytes_.substr(line.offset, line.bytes);
  PackedFilter packed;
  const bool fits = GetFields(bytes, packed);
  if (core::Checksum(bytes) != line.checksum) {
    const std::string about = fits ? About(packed) + ", unless it is the name that is damaged" : "";
    return CorruptRecord(record, "fails its checksum" + about);
  }
  if (!fits) return CorruptRecord(record, "is cut short");
  if (packed.expires_unix_ms < 0) return CorruptRecord(record, "has an expiry before 1970" + About(packed));
  return packed;
}

core::Error Pack::Located(uint32_t record, const PackedFilter& packed, const core::Error& error) const {
  return {error.code, path_ + ": record " + std::to_string(record) + ": " + error.message + About(packed)};
}

tl::unexpected<core::Error> Pack::Corrupt(std::string_view reason) const {
  return core::Fail(core::ErrorCode::kCorrupt, path_ + ": " + std::string(reason));
}

tl::unexpected<core::Error> Pack::CorruptRecord(uint32_t record, std::string_view reason) const {
  return Corrupt("record " + std::to_string(record) + " at byte " + std::to_string(table_[record].offset) + " " +
                 std::string(reason));
}

}  // namespace bitsieve::server
