// quarantine.h: damaged files are moved aside, where they cannot be taken for good ones and can still be examined.
// Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "server/persistence/disk/data_directory.h"

namespace bitsieve::server {

struct Quarantined {
  std::string path;      // where it was
  std::string moved_to;  // empty if it was missing
  std::string reason;    // names the file, and the filter if it is known
};

class Quarantine {
 public:
  explicit Quarantine(DataDirectory& directory) : directory_(directory) {}

  // Moves the file, durably.
  core::Status Take(const std::string& path, const std::string& reason);
  // Puts a copy there, durably; the file stays. Needs as much memory as it is long.
  core::Status Copy(const std::string& path, const std::string& reason);
  // The file should have been there.
  void RecordMissing(const std::string& path, const std::string& reason) { taken_.push_back({path, "", reason}); }

  const std::vector<Quarantined>& taken() const { return taken_; }

 private:
  core::Result<std::string> FreePath(const std::string& path) const;

  DataDirectory& directory_;
  std::vector<Quarantined> taken_;
};

}  // namespace bitsieve::server
