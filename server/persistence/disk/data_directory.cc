#include "server/persistence/disk/data_directory.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace bitsieve::server {
namespace {

constexpr std::string_view kFilterSuffix = ".filter";

}  // namespace

core::Result<std::unique_ptr<DataDirectory>> DataDirectory::Open(Disk& disk, const std::string& path) {
  std::unique_ptr<DataDirectory> directory(new DataDirectory(disk, path));
  core::Status status = disk.CreateDirectory(path);
  if (!status) return tl::unexpected(std::move(status.error()));
  core::Result<std::unique_ptr<FileLock>> lock = disk.Lock(directory->lock_path());
  if (!lock) return tl::unexpected(std::move(lock.error()));
  directory->lock_ = std::move(*lock);
  // In a directory that is in use it is made once the start is sure to succeed.
  const core::Result<std::vector<std::string>> names = disk.List(path);
  if (!names) return tl::unexpected(names.error());
  const auto has = [&](std::string_view name) { return std::binary_search(names->begin(), names->end(), name); };
  if (!has(kManifestName) && !has("log")) status = disk.CreateDirectory(directory->filters_path());
  if (!status) return tl::unexpected(std::move(status.error()));
  return directory;
}

std::string DataLayout::FilterFileName(uint64_t file_id) {
  return std::to_string(file_id) + std::string(kFilterSuffix);
}

std::optional<uint64_t> DataLayout::FilterFileId(std::string_view file_name) {
  if (!file_name.ends_with(kFilterSuffix)) return std::nullopt;
  uint64_t id = 0;
  std::from_chars(file_name.data(), file_name.data() + file_name.size(), id);
  // A name that is not reproduced exactly (signs, leading zeros, letters, overflow) is not ours.
  const bool ours = id >= 1 && id < kMaxFileId && FilterFileName(id) == file_name;
  return ours ? std::optional(id) : std::nullopt;
}

core::Status DataDirectory::PrepareManifest(const Manifest& manifest, ChunkBuffer& buffer) {
  return WriteManifest(disk_, temporary_manifest_path(), manifest, buffer);
}

core::Status DataDirectory::SwapManifest() {
  if (core::Status status = disk_.Rename(temporary_manifest_path(), manifest_path()); !status) return status;
  return disk_.SyncDirectory(path());
}

}  // namespace bitsieve::server
