// recoverer.h: how recovery.h is done: reads all, then decides, then changes what has to be changed; each step is one
// function. recovery.cc reads, recovery_repair.cc changes the directory. Only those two use it. Confined to the thread
// that recovers.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/change_meter.h"
#include "server/keyspace/loading_names.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/log/log_replay.h"
#include "server/persistence/recovery/recovery.h"
#include "server/persistence/snapshot/filter_loader.h"

namespace bitsieve::server {

class Recoverer {
 public:
  Recoverer(DataDirectory& directory, Registry& registry, core::FilterClock& clock, const RecoveryOptions& options)
      : directory_(directory),
        disk_(directory.disk()),
        registry_(registry),
        clock_(clock),
        options_(options),
        quarantine_(directory),
        names_(registry) {}

  core::Result<Recovery> Run();

 private:
  // Reading. Nothing is changed; what is wrong goes to damage_. Errors are those that end the reading.
  core::Status Read();
  core::Status ListFiles();
  core::Status ReadCurrentManifest();
  void RecordLostManifest(const std::string& reason);
  void DropExpired();
  void LoadAll();
  void TakeFilters(std::vector<core::Result<commands::FilterPtr>> results);
  void TakePacks(std::vector<core::Result<LoadedPack>> results);
  void TakePack(ManifestPack listed, LoadedPack loaded);
  void RecordProblem(uint64_t file_id, const core::Error& error, std::optional<uint32_t> record = {});
  core::Status AddFilters();
  core::Status AddFilter(const ManifestEntry& listed, commands::FilterPtr filter);
  void CheckIds();
  void DropSecondIds();
  void DropRecord(size_t pack, uint32_t record, const std::string& reason);
  void DropRecordOf(const Entry& entry, const std::string& reason);
  core::Status ReplayLog();
  void IndexNames();
  core::Result<commands::FilterPtr> LoadImage(const log::Image& image, core::MemoryBudget& memory);
  core::Result<std::optional<uint64_t>> FindNewestSegment();
  core::Status ReadSegments();
  void RecordShortLog(LogScan& scan);
  core::Status Publish();

  // Changing the directory. After an interruption the next start finds the same work to do.
  core::Status Repair();
  core::Status SetAllAside();
  core::Status SetAside(uint64_t file_id, const std::string& reason);
  core::Status SetRecordsAside();
  core::Status SyncNames();
  core::Status CutLog();
  core::Status CommitManifest();
  void RecordSaved();
  void RemoveExpired();
  void RemoveLeftovers();
  bool IsNeeded(uint64_t file_id) const;
  bool Remove(const std::string& path);
  void RemoveLeftover(const std::string& path);
  static bool Contains(const std::vector<std::string>& sorted, std::string_view name) {
    return std::binary_search(sorted.begin(), sorted.end(), name);
  }
  bool HasInLog(std::string_view name) const { return Contains(log_names_, name); }
  std::string InLog(std::string_view name) const { return directory_.log_path() + "/" + std::string(name); }

  DataDirectory& directory_;
  Disk& disk_;
  Registry& registry_;
  core::FilterClock& clock_;
  const RecoveryOptions& options_;
  Quarantine quarantine_;

  bool has_manifest_ = false;
  bool has_temporary_manifest_ = false;
  std::vector<uint64_t> file_ids_;  // in filters/, ascending
  uint64_t first_free_id_ = 1;      // above all that were there at the start
  Manifest manifest_;
  int64_t expired_unix_ms_ = 0;  // what ended by then is not loaded; 0: all is
  bool manifest_changed_ = false;
  std::vector<std::string> log_names_;  // of all files in log/
  std::vector<LogFile> log_files_;
  std::vector<uint64_t> expired_ids_;         // of the files of names whose time has come
  std::vector<commands::FilterPtr> filters_;  // one for each entry of manifest_
  std::vector<LoadedPack> packs_;             // one for each pack of manifest_
  std::vector<LoadedPack::Record> in_files_;  // one for each entry of manifest_, once all have their names
  LoadingNames names_;                        // of all of them
  std::atomic<uint64_t> next_filter_id_{1};
  RecoveryDamage damage_;
  std::optional<LogReplay> replay_;
  uint64_t content_changes_before_log_ = core::ChangeMeter::Total();
  ChunkBuffer buffer_;
  Recovery recovery_;
};

}  // namespace bitsieve::server
