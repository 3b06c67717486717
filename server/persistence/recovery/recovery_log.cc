#include "server/persistence/recovery/recovery_log.h"

#include <spdlog/spdlog.h>

#include "core/base/canonical_path.h"

namespace bitsieve::server {

void LogRecovery(const RecoveryReport& report, const std::string& directory) {
  for (const Quarantined& file : report.quarantined) {
    spdlog::error("Quarantined {}: {}", file.moved_to.empty() ? file.path + " (missing)" : file.moved_to, file.reason);
  }
  for (const std::string& warning : report.warnings) spdlog::warn("{}", warning);
  if (report.leftovers_removed != 0) {
    spdlog::info("Removed {} files of a snapshot that was never finished", report.leftovers_removed);
  }
  if (report.log.torn)
    spdlog::warn("The end of the log was torn by a crash and is dropped: {}", report.log.torn->reason);
  for (const std::string& problem : report.log_problems) {
    spdlog::error("The log is damaged and is truncated before the damage, as on-corrupt-log truncate says: {}",
                  problem);
  }
  const std::string expired =
      report.filters_expired == 0 ? "" : " (" + std::to_string(report.filters_expired) + " more had expired)";
  spdlog::info("Loaded {} filters{}, {} bytes and {} records of the log, in {} ms from {}", report.filters_loaded,
               expired, report.bytes_read, report.log.records, report.duration_ms, core::CanonicalPath(directory));
}

}  // namespace bitsieve::server
