// The part of Recoverer that changes the directory. If a start is interrupted here, the next one finds the same work to
// do.
#include <algorithm>
#include <map>
#include <utility>

#include "server/persistence/log/log_current.h"
#include "server/persistence/log/log_segment.h"
#include "server/persistence/recovery/recoverer.h"

namespace bitsieve::server {

core::Status Recoverer::Repair() {
  if (core::Status status = SyncNames(); !status) return status;
  if (core::Status status = disk_.CreateDirectory(directory_.filters_path()); !status) return status;
  if (core::Status status = damage_.manifest ? SetAllAside() : core::Status(); !status) return status;
  for (const DamagedFilter& filter : damage_.filters) {
    if (filter.record) continue;
    if (core::Status status = SetAside(filter.file_id, filter.reason); !status) return status;
  }
  if (core::Status status = SetRecordsAside(); !status) return status;
  if (core::Status status = CutLog(); !status) return status;
  const bool begins_log = options_.keeps_log && !manifest_.has_log;
  // The first manifest comes before any other file; later ones name a log that is there already.
  if (manifest_changed_) {
    if (core::Status status = CommitManifest(); !status) return status;
  }
  // A segment that begins where the log was cut supersedes what lies beyond. Without it, a snapshot might be complete
  // before anything is written there, and the next start would find frames of the past beyond the snapshot's position.
  const bool was_cut = !damage_.log.empty() || recovery_.report.log.torn;
  if (!begins_log && !(manifest_.has_log && was_cut)) return {};
  if (core::Status status = disk_.CreateDirectory(directory_.log_path()); !status) return status;
  const auto segment = LogSegmentWriter::Create(disk_, directory_.log_path(), recovery_.log_end);
  if (!segment) return tl::unexpected(segment.error());
  if (!begins_log) return {};
  manifest_.has_log = true;
  return CommitManifest();
}

// Makes durable what was read: it is served from now on, and files that it does not need are removed. If the server
// before was killed, the names of the manifest and of the last segment may not be durable yet: after a power failure,
// those before them would be found again.
core::Status Recoverer::SyncNames() {
  if (core::Status status = has_manifest_ ? disk_.SyncDirectory(directory_.path()) : core::Status(); !status) {
    return status;
  }
  return log_names_.empty() ? core::Status() : disk_.SyncDirectory(directory_.log_path());
}

// Without a manifest the filters' names are unknown. The manifest is moved last, or CURRENT if there is none, so that a
// start after a crash finds the same damage again.
core::Status Recoverer::SetAllAside() {
  const std::string reason = "its manifest was lost: " + *damage_.manifest;
  while (!file_ids_.empty()) {
    if (core::Status status = SetAside(file_ids_.back(), reason); !status) return status;
  }
  std::vector<std::string> paths;
  for (const LogFile& file : std::exchange(log_files_, {})) paths.push_back(file.path);
  if (HasInLog(kLogCurrentName)) paths.push_back(InLog(kLogCurrentName));
  for (const std::string& path : paths) {
    if (core::Status status = quarantine_.Take(path, reason); !status) return status;
  }
  return has_manifest_ ? quarantine_.Take(directory_.manifest_path(), *damage_.manifest) : core::Status();
}

core::Status Recoverer::SetAside(uint64_t file_id, const std::string& reason) {
  const std::string path = directory_.FilterPath(file_id);
  if (!std::binary_search(file_ids_.begin(), file_ids_.end(), file_id)) {
    quarantine_.RecordMissing(path, reason);
    return {};
  }
  core::Status status = quarantine_.Take(path, reason);
  if (status) std::erase(file_ids_, file_id);
  return status;
}

// Copies each damaged pack to quarantine, once for all damage to it: its other records are still needed.
core::Status Recoverer::SetRecordsAside() {
  std::map<uint64_t, std::string> reasons;
  for (const DamagedFilter& filter : damage_.filters) {
    if (!filter.record) continue;
    std::string& reason = reasons[filter.file_id];
    reason += (reason.empty() ? "" : "; ") + filter.reason;
  }
  for (const auto& [file_id, reason] : reasons) {
    if (core::Status status = quarantine_.Copy(directory_.FilterPath(file_id), reason); !status) return status;
  }
  return {};
}

// The next segment begins where the damage does, and so supersedes the rest of the damaged one; those that begin later
// would come after it. What is left is served from now on and must not vanish any more.
core::Status Recoverer::CutLog() {
  for (const LogFile& file : log_files_) {
    const bool is_gone = damage_.log_cut && file.start >= damage_.log_cut->position;
    core::Status status =
        is_gone ? quarantine_.Take(file.path, "after damage: " + damage_.log_cut->reason) : disk_.SyncFile(file.path);
    if (!status) return status;
  }
  return {};
}

// Writes a manifest without what is lost for good, so that the next start does not miss it again.
core::Status Recoverer::CommitManifest() {
  manifest_.next_file_id = std::max(manifest_.next_file_id, first_free_id_);
  ++manifest_.snapshot_number;
  if (core::Status status = directory_.PrepareManifest(manifest_, buffer_); !status) return status;
  has_temporary_manifest_ = false;
  return directory_.SwapManifest();
}

// Records what is saved, so that the first save need not write what it finds unchanged.
void Recoverer::RecordSaved() {
  SavedState& saved = recovery_.saved;
  saved.snapshot_number = manifest_.snapshot_number;
  saved.has_log = manifest_.has_log;
  saved.log_begin = LogBeginOf(manifest_);
  saved.log_position = recovery_.log_end;  // where a server without a log continues
  // The names may differ from the manifest's now.
  const RecoveryReport& report = recovery_.report;
  const bool as_saved = report.log.records == 0 && (report.filters_expired == 0 || log_files_.empty());
  saved.registry_change_count = registry_.ChangeCount() - (as_saved ? 0 : 1);
  saved.changes_before = content_changes_before_log_ + saved.registry_change_count;
  saved.file_ids = FileIdsOf(manifest_);
  for (size_t i = 0; i < packs_.size(); ++i) {
    const ManifestPack& listed = manifest_.packs[i];
    saved.packs.push_back({packs_[i].number, listed.file_id, listed.seal, listed.live, std::move(packs_[i].saved)});
  }
  recovery_.next_file_id = std::max(manifest_.next_file_id, first_free_id_);
}

void Recoverer::RemoveExpired() {
  for (const uint64_t id : expired_ids_) {
    if (std::erase(file_ids_, id) != 0) Remove(directory_.FilterPath(id));
  }
}

void Recoverer::RemoveLeftovers() {
  if (has_temporary_manifest_) RemoveLeftover(directory_.temporary_manifest_path());
  for (const std::string& name : log_names_) {
    if (IsTemporaryLogFile(name)) RemoveLeftover(InLog(name));
  }
  for (const uint64_t id : file_ids_) {
    if (!IsNeeded(id)) RemoveLeftover(directory_.FilterPath(id));
  }
}

bool Recoverer::IsNeeded(uint64_t file_id) const {
  const std::vector<uint64_t>& listed = recovery_.saved.file_ids;
  if (std::binary_search(listed.begin(), listed.end(), file_id)) return true;
  return std::any_of(recovery_.filter_files.begin(), recovery_.filter_files.end(),
                     [&](const log::FilterFile& file) { return file.file_id == file_id; });
}

bool Recoverer::Remove(const std::string& path) {
  const core::Status status = disk_.Remove(path);
  if (!status) recovery_.report.warnings.push_back(status.error().message);
  return status.has_value();
}

void Recoverer::RemoveLeftover(const std::string& path) { recovery_.report.leftovers_removed += Remove(path); }

}  // namespace bitsieve::server
