#include "server/persistence/disk/quarantine.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace bitsieve::server {

core::Status Quarantine::Take(const std::string& path, const std::string& reason) {
  Disk& disk = directory_.disk();
  const core::Result<std::string> target = FreePath(path);
  if (!target) return tl::unexpected(target.error());
  core::Status status = disk.Rename(path, *target);
  // The new name first: in between, a power failure may show both, never neither.
  if (status) status = disk.SyncDirectory(directory_.quarantine_path());
  if (status) status = disk.SyncDirectory(path.substr(0, path.rfind('/')));
  if (status) taken_.push_back({path, *target, reason});
  return status;
}

core::Status Quarantine::Copy(const std::string& path, const std::string& reason) {
  Disk& disk = directory_.disk();
  const core::Result<std::string> target = FreePath(path);
  if (!target) return tl::unexpected(target.error());
  const auto source = disk.Open(path);
  if (!source) return tl::unexpected(source.error());
  std::string bytes((*source)->size(), '\0');
  if (core::Status status = (*source)->ReadAt(0, std::as_writable_bytes(std::span(bytes))); !status) return status;
  const auto copy = disk.Create(*target);
  if (!copy) return tl::unexpected(copy.error());
  core::Status status = (*copy)->Write(bytes);
  if (status) status = (*copy)->Sync();
  if (status) status = (*copy)->Close();
  if (status) status = disk.SyncDirectory(directory_.quarantine_path());
  if (status) taken_.push_back({path, *target, reason});
  return status;
}

// In quarantine/, which is made if need be: "17.filter", or "17.filter.1" and so on if an earlier start put a file of
// that name there.
core::Result<std::string> Quarantine::FreePath(const std::string& path) const {
  Disk& disk = directory_.disk();
  if (core::Status status = disk.CreateDirectory(directory_.quarantine_path()); !status) {
    return tl::unexpected(std::move(status.error()));
  }
  const core::Result<std::vector<std::string>> taken = disk.List(directory_.quarantine_path());
  if (!taken) return tl::unexpected(taken.error());
  const std::string name = path.substr(path.rfind('/') + 1);
  std::string candidate = name;
  for (uint64_t i = 1; std::binary_search(taken->begin(), taken->end(), candidate); ++i) {
    candidate = name + "." + std::to_string(i);
  }
  return directory_.quarantine_path() + "/" + candidate;
}

}  // namespace bitsieve::server
