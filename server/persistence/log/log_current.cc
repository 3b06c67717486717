#include "server/persistence/log/log_current.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "server/persistence/log/log_reader.h"
#include "server/persistence/log/log_segment.h"

namespace bitsieve::server {
namespace {

constexpr std::string_view kMagic = "BSLOGCUR";
constexpr uint32_t kVersion = 1;
constexpr size_t kBytes = 28;
constexpr size_t kChecksumOffset = kBytes - sizeof(uint64_t);

std::string Encode(uint64_t start) {
  std::string bytes;
  core::ByteWriter writer(bytes);
  writer.PutBytes(kMagic);
  writer.Put(kVersion);
  writer.Put(start);
  writer.Put(core::Checksum(bytes));
  return bytes;
}

core::Result<uint64_t> Decode(const std::string& path, std::string_view bytes) {
  core::ByteReader fields(bytes);
  const std::string_view magic = fields.GetBytes(kMagic.size());
  const auto version = fields.Get<uint32_t>();
  const auto start = fields.Get<uint64_t>();
  if (magic != kMagic || fields.Get<uint64_t>() != core::Checksum(bytes.substr(0, kChecksumOffset))) {
    return core::Fail(core::ErrorCode::kCorrupt, path + ": fails its checksum");
  }
  if (version != kVersion) {
    return core::Fail(core::ErrorCode::kUnsupported, path + ": is of version " + std::to_string(version) +
                                                         "; this server reads up to version " +
                                                         std::to_string(kVersion));
  }
  return start;
}

}  // namespace

core::Status WriteLogCurrent(Disk& disk, const std::string& directory, uint64_t start) {
  const std::string path = directory + "/" + std::string(kLogCurrentName);
  const std::string temporary = path + std::string(kTemporarySuffix);
  core::Result<std::unique_ptr<WritableFile>> file = disk.Create(temporary);
  if (!file) return tl::unexpected(std::move(file.error()));
  core::Status status = (*file)->Write(Encode(start));
  if (status) status = (*file)->Sync();
  if (status) status = (*file)->Close();
  if (status) status = disk.Rename(temporary, path);
  if (status) status = disk.SyncDirectory(directory);
  return status;
}

core::Result<uint64_t> ReadLogCurrent(const Disk& disk, const std::string& directory) {
  const std::string path = directory + "/" + std::string(kLogCurrentName);
  const core::Result<std::vector<std::string>> names = ListIfThere(disk, directory);
  if (!names) return tl::unexpected(names.error());
  if (!std::binary_search(names->begin(), names->end(), kLogCurrentName)) {
    return core::Fail(core::ErrorCode::kCorrupt, path + ": is missing");
  }
  const core::Result<std::unique_ptr<ReadableFile>> file = disk.Open(path);
  if (!file) return tl::unexpected(file.error());
  if ((*file)->size() != kBytes) {
    return core::Fail(core::ErrorCode::kCorrupt,
                      path + ": is " + std::to_string((*file)->size()) + " bytes long, not " + std::to_string(kBytes));
  }
  std::string bytes(kBytes, '\0');
  if (core::Status status = (*file)->ReadAt(0, std::as_writable_bytes(std::span(bytes))); !status) {
    return tl::unexpected(std::move(status.error()));
  }
  return Decode(path, bytes);
}

}  // namespace bitsieve::server
