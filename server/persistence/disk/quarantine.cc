#include "server/persistence/disk/quarantine.h"

#include <algorithm>
#include <cstdint>

namespace bitsieve::server {

core::Status Quarantine::Take(const std::string& path, const std::string& reason) {
  Disk& disk = directory_.disk();
  const size_t slash = path.rfind('/');
  core::Status status = disk.CreateDirectory(directory_.quarantine_path());
  if (!status) return status;
  const core::Result<std::string> target = FreePath(std::string_view(path).substr(slash + 1));
  if (!target) return tl::unexpected(target.error());
  status = disk.Rename(path, *target);
  // The new name first: in between, a power failure may show both, never neither.
  if (status) status = disk.SyncDirectory(directory_.quarantine_path());
  if (status) status = disk.SyncDirectory(path.substr(0, slash));
  if (status) taken_.push_back({path, *target, reason});
  return status;
}

// "17.filter", or "17.filter.1" and so on if an earlier start put a file of that name there.
core::Result<std::string> Quarantine::FreePath(std::string_view name) const {
  const core::Result<std::vector<std::string>> taken = directory_.disk().List(directory_.quarantine_path());
  if (!taken) return tl::unexpected(taken.error());
  std::string candidate(name);
  for (uint64_t i = 1; std::binary_search(taken->begin(), taken->end(), candidate); ++i) {
    candidate = std::string(name) + "." + std::to_string(i);
  }
  return directory_.quarantine_path() + "/" + candidate;
}

}  // namespace bitsieve::server
