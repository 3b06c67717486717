// recovery_damage.h: all damage that a start finds in a data directory, and whether the options allow it to continue
// without what is damaged. Reading collects it; nothing in the directory is changed before the verdict.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "server/persistence/log/log_reader.h"

namespace bitsieve::server {

enum class OnCorruptFilter {
  kRefuse,
  kQuarantine,  // damaged filter files are set aside, and the rest is served
};

enum class OnCorruptLog {
  kRefuse,
  kTruncate,  // a damaged log ends where the damage begins
};

// A file, or a record of a pack.
struct DamagedFilter {
  uint64_t file_id = 0;
  std::string reason;  // names the file, and the filter if it is known
  std::optional<uint32_t> record = {};
};

struct RecoveryDamage {
  // No manifest can be read: the names of all filters are lost, and a log cannot be applied to anything.
  std::optional<std::string> manifest;
  uint64_t unnamed_filters = 0;    // files in filters/, if the manifest is lost
  uint64_t unusable_segments = 0;  // of the log, and CURRENT, if the manifest is lost

  std::vector<DamagedFilter> filters;  // also those that the log names
  uint64_t filters_listed = 0;         // by the manifest, those in packs among them

  std::vector<std::string> log;   // reasons
  std::optional<LogCut> log_cut;  // where a damaged log ends; none: only files are missing

  std::vector<core::Error> hopeless;  // what no option helps against

  bool loses_filters() const { return manifest || !filters.empty(); }
  bool loses_log() const { return unusable_segments != 0 || !log.empty(); }
};

// Whether the start may continue without what is damaged. An error has a line for each problem, and states for each
// option that would help what is lost with it.
core::Status CheckDamage(const RecoveryDamage& damage, const std::string& directory, OnCorruptFilter on_corrupt_filter,
                         OnCorruptLog on_corrupt_log);

}  // namespace bitsieve::server
