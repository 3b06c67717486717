#include "server/persistence/recovery.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "server/persistence/disk/filter_file.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/log/log_current.h"
#include "server/persistence/log/log_replay.h"
#include "server/persistence/log/log_segment.h"
#include "server/persistence/snapshot/filter_loader.h"

namespace bitsieve::server {
namespace {

constexpr unsigned kMaxThreads = 8;

unsigned ThreadsOf(const RecoveryOptions& options) {
  if (options.threads != 0) return options.threads;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads);
}

bool Contains(const std::vector<std::string>& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

// Reads all, then decides, then changes what has to be changed; each step is one function.
class Recoverer {
 public:
  Recoverer(DataDirectory& directory, Registry& registry, core::FilterClock& clock, const RecoveryOptions& options)
      : directory_(directory),
        disk_(directory.disk()),
        registry_(registry),
        clock_(clock),
        options_(options),
        quarantine_(directory) {}

  core::Result<Recovery> Run() {
    const auto start = std::chrono::steady_clock::now();
    if (core::Status status = Read(); !status) return tl::unexpected(std::move(status.error()));
    core::Status status = CheckDamage(damage_, directory_.path(), options_.on_corrupt_filter, options_.on_corrupt_log);
    if (status) status = Publish();
    if (status) status = Repair();
    if (!status) return tl::unexpected(std::move(status.error()));
    NoteSaved();
    RemoveExpired();
    RemoveLeftovers();
    const auto duration = std::chrono::steady_clock::now() - start;
    recovery_.report.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    recovery_.report.quarantined = quarantine_.taken();
    recovery_.lost_some = recovery_.report.log.is_damaged() || !quarantine_.taken().empty();
    return std::move(recovery_);
  }

 private:
  // Reading. Nothing is changed; what is wrong goes to damage_. Errors are those that end the reading.
  core::Status Read();
  core::Status ListFiles();
  core::Status ReadCurrentManifest();
  void NoteLostManifest(const std::string& reason);
  void DropExpired();
  void LoadAll();
  void NoteProblem(uint64_t file_id, const core::Error& error);
  core::Status ReplayLog();
  core::Result<FilterPtr> LoadImage(const log::Image& image);
  core::Result<std::optional<uint64_t>> FindNewestSegment();
  core::Status ReadSegments();
  core::Status Publish();

  // Changing the directory. Whatever is interrupted is found again by the next start.
  core::Status Repair();
  core::Status SetAllAside();
  core::Status SetAside(uint64_t file_id, const std::string& reason);
  core::Status CutLog();
  core::Status CommitManifest();
  void NoteSaved();
  void RemoveExpired();
  void RemoveLeftovers();
  bool IsNeeded(uint64_t file_id) const;
  bool Remove(const std::string& path);
  void RemoveLeftover(const std::string& path);
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
  bool manifest_changed_ = false;
  std::vector<std::string> log_names_;  // of all files in log/
  std::vector<LogFile> log_files_;
  std::vector<uint64_t> expired_ids_;  // of the files of names whose time has come
  std::vector<FilterPtr> filters_;     // one for each entry of manifest_
  RecoveryDamage damage_;
  std::optional<LogReplay> replay_;
  ChunkBuffer buffer_;
  Recovery recovery_;
};

core::Status Recoverer::Read() {
  core::Status status = ListFiles();
  if (status) status = ReadCurrentManifest();
  if (!status || damage_.manifest) return status;
  if (log_files_.empty()) DropExpired();
  LoadAll();
  // Without memory the log would only be in vain; other problems are named together with those of the log.
  const bool has_memory = std::none_of(damage_.hopeless.begin(), damage_.hopeless.end(), [](const core::Error& error) {
    return error.code == core::ErrorCode::kOutOfMemory;
  });
  return has_memory ? ReplayLog() : core::Status();
}

core::Status Recoverer::ListFiles() {
  const core::Result<std::vector<std::string>> top = disk_.List(directory_.path());
  if (!top) return tl::unexpected(top.error());
  has_manifest_ = Contains(*top, DataDirectory::kManifestName);
  has_temporary_manifest_ = Contains(*top, DataDirectory::kTemporaryManifestName);
  const core::Result<std::vector<std::string>> files = ListIfThere(disk_, directory_.filters_path());
  if (!files) return tl::unexpected(files.error());
  for (const std::string& name : *files) {
    if (const std::optional<uint64_t> id = DataDirectory::FilterFileId(name)) file_ids_.push_back(*id);
  }
  std::sort(file_ids_.begin(), file_ids_.end());
  if (!file_ids_.empty()) first_free_id_ = file_ids_.back() + 1;
  core::Result<std::vector<std::string>> log_names = ListIfThere(disk_, directory_.log_path());
  if (!log_names) return tl::unexpected(std::move(log_names.error()));
  log_names_ = std::move(*log_names);
  core::Result<std::vector<LogFile>> log_files = ListLog(disk_, directory_.log_path());
  if (!log_files) return tl::unexpected(std::move(log_files.error()));
  log_files_ = std::move(*log_files);
  return {};
}

core::Status Recoverer::ReadCurrentManifest() {
  if (!has_manifest_) {
    manifest_changed_ = true;
    // A server writes its first manifest before any other file: files alone mean that the manifest was lost.
    if (file_ids_.empty() && log_files_.empty() && !HasInLog(kLogCurrentName)) return {};
    NoteLostManifest(directory_.manifest_path() + ": is missing, but " + directory_.filters_path() + " holds " +
                     std::to_string(file_ids_.size()) + " filter files, " + directory_.log_path() + " " +
                     std::to_string(log_files_.size()) + " segments");
    return {};
  }
  core::Result<Manifest> manifest = ReadManifest(disk_, directory_.manifest_path(), buffer_);
  if (!manifest) {
    if (manifest.error().code != core::ErrorCode::kCorrupt) return tl::unexpected(std::move(manifest.error()));
    NoteLostManifest(manifest.error().message);
    return {};
  }
  manifest_ = std::move(*manifest);
  recovery_.report.snapshot_unix_ms = manifest_.saved_unix_ms;
  return {};
}

void Recoverer::NoteLostManifest(const std::string& reason) {
  damage_.manifest = reason;
  damage_.unnamed_filters = file_ids_.size();
  damage_.unusable_segments = log_files_.size() + (HasInLog(kLogCurrentName) ? 1 : 0);
  manifest_changed_ = true;
}

// Before anything is read: damage to a filter that has expired does not matter.
void Recoverer::DropExpired() {
  const int64_t now_ms = registry_.WallMs();
  recovery_.report.filters_expired = std::erase_if(manifest_.filters, [&](const ManifestEntry& entry) {
    const bool expired = entry.expires_unix_ms != 0 && entry.expires_unix_ms <= now_ms;
    if (expired) expired_ids_.push_back(entry.file_id);
    return expired;
  });
  manifest_changed_ |= !expired_ids_.empty();
}

void Recoverer::LoadAll() {
  std::vector<core::Result<FilterPtr>> results =
      LoadFilters(directory_, manifest_.filters, file_ids_, registry_.memory(), clock_, ThreadsOf(options_));
  damage_.filters_listed = results.size();
  // What is left of manifest and results are the filters that were loaded.
  std::vector<ManifestEntry> loaded;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) {
      NoteProblem(manifest_.filters[i].file_id, results[i].error());
      continue;
    }
    loaded.push_back(std::move(manifest_.filters[i]));
    filters_.push_back(std::move(*results[i]));
  }
  manifest_changed_ |= loaded.size() != results.size();
  manifest_.filters = std::move(loaded);
}

void Recoverer::NoteProblem(uint64_t file_id, const core::Error& error) {
  if (error.code == core::ErrorCode::kCorrupt) {
    damage_.filters.push_back({file_id, error.message});
  } else {
    damage_.hopeless.push_back(error);
  }
}

// ---- the log

core::Status Recoverer::ReplayLog() {
  replay_.emplace(registry_.memory(), clock_, manifest_.next_filter_id,
                  [this](const log::Image& image) { return LoadImage(image); });
  for (size_t i = 0; i < filters_.size(); ++i) {
    const ManifestEntry& entry = manifest_.filters[i];
    const FilterPtr& filter = filters_[i];
    recovery_.report.bytes_read += entry.seal.bytes;
    recovery_.saved.filters.emplace(filter.get(),
                                    SavedFilter{filter, filter->ChangeCount(), entry.file_id, entry.seal});
    replay_->Add(entry.name, entry.filter_id, {filter, entry.sequence, entry.freezing}, entry.expires_unix_ms);
  }
  filters_.clear();
  if (core::Status status = ReadSegments(); !status) return status;
  replay_->Finish();
  recovery_.saved.next_filter_id = replay_->next_filter_id();
  recovery_.image_files = replay_->image_files();
  return {};
}

// A damaged one is forgotten for now, so that the rest of the log is verified as well.
core::Result<FilterPtr> Recoverer::LoadImage(const log::Image& image) {
  const std::string path = directory_.FilterPath(image.file_id);
  first_free_id_ = std::max(first_free_id_, image.file_id + 1);
  const bool present = std::binary_search(file_ids_.begin(), file_ids_.end(), image.file_id);
  core::Result<std::unique_ptr<core::Filter>> filter =
      present ? ReadFilterFile(disk_, path, image.seal, registry_.memory(), clock_, buffer_)
              : core::Fail(core::ErrorCode::kCorrupt, path + ": is missing, but the log refers to it");
  if (filter) {
    recovery_.report.bytes_read += image.seal.bytes;
    return FilterPtr(std::move(*filter));
  }
  const core::ErrorCode code = filter.error().code;
  if (code != core::ErrorCode::kCorrupt && code != core::ErrorCode::kUnsupported) {
    return tl::unexpected(std::move(filter.error()));
  }
  NoteProblem(image.file_id, filter.error());
  return FilterPtr();
}

core::Result<std::optional<uint64_t>> Recoverer::FindNewestSegment() {
  if (!manifest_.has_log) return std::nullopt;
  const core::Result<uint64_t> start = ReadLogCurrent(disk_, directory_.log_path());
  if (start) return *start;
  if (start.error().code != core::ErrorCode::kCorrupt) return tl::unexpected(start.error());
  damage_.log.push_back(start.error().message + "; segments may be missing");
  return std::nullopt;
}

core::Status Recoverer::ReadSegments() {
  const core::Result<std::optional<uint64_t>> newest = FindNewestSegment();
  if (!newest) return tl::unexpected(newest.error());
  core::Result<LogScan> scan = ReadLog(
      disk_, log_files_, manifest_.log_position,
      [&](uint64_t position, const log::Record& record) { return replay_->Apply(position, record); }, *newest);
  if (!scan) {
    // All that no option helps against is named together.
    damage_.hopeless.push_back(scan.error());
    return {};
  }
  if (scan->missing) scan->missing = directory_.log_path() + ": " + *scan->missing;
  if (scan->damage) damage_.log.push_back(scan->damage->reason);
  if (scan->missing) damage_.log.push_back(*scan->missing);
  damage_.log_cut = scan->damage;
  recovery_.log_end = std::max(scan->end, manifest_.log_position);
  recovery_.report.log = std::move(*scan);
  recovery_.report.log_problems = damage_.log;
  return {};
}

core::Status Recoverer::Publish() {
  if (!replay_) return {};
  const int64_t now_ms = registry_.WallMs();
  for (const auto& [name, meaning] : replay_->names()) {
    if (meaning.expires_ms != 0 && meaning.expires_ms <= now_ms) {
      ++recovery_.report.filters_expired;
      continue;
    }
    const ReplayedFilter& replayed = replay_->filter(meaning.id);
    replayed.filter->Attach(nullptr, meaning.id, replayed.sequence);
    if (registry_.InsertIfAbsent(name, replayed.filter, meaning.expires_ms) == nullptr) {
      return core::Fail(core::ErrorCode::kOutOfMemory,
                        directory_.path() + ": no memory is left for the names of its filters");
    }
    if (replayed.freezing) recovery_.freezing.push_back({name, replayed.filter, meaning.expires_ms});
    ++recovery_.report.filters_loaded;
  }
  replay_.reset();
  return {};
}

// ---- the directory is changed from here on

core::Status Recoverer::Repair() {
  if (core::Status status = disk_.CreateDirectory(directory_.filters_path()); !status) return status;
  if (core::Status status = damage_.manifest ? SetAllAside() : core::Status(); !status) return status;
  for (const DamagedFilter& filter : damage_.filters) {
    if (core::Status status = SetAside(filter.file_id, filter.reason); !status) return status;
  }
  if (core::Status status = CutLog(); !status) return status;
  const bool begins_log = options_.keeps_log && !manifest_.has_log;
  // The first manifest comes before any other file; later ones name a log that is there already.
  if (manifest_changed_) {
    if (core::Status status = CommitManifest(); !status) return status;
  }
  if (!begins_log && !(manifest_.has_log && !damage_.log.empty())) return {};
  if (core::Status status = disk_.CreateDirectory(directory_.log_path()); !status) return status;
  const auto segment = LogSegmentWriter::Create(disk_, directory_.log_path(), recovery_.log_end);
  if (!segment) return tl::unexpected(segment.error());
  if (!begins_log) return {};
  manifest_.has_log = true;
  return CommitManifest();
}

// Without a manifest the filters' names are unknown. The manifest goes last, or CURRENT if there is none, so that a
// crash on the way finds the same damage again.
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
    quarantine_.NoteMissing(path, reason);
    return {};
  }
  core::Status status = quarantine_.Take(path, reason);
  if (status) std::erase(file_ids_, file_id);
  return status;
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

// So that what is gone for good is not missed again by the next start.
core::Status Recoverer::CommitManifest() {
  manifest_.next_file_id = std::max(manifest_.next_file_id, first_free_id_);
  ++manifest_.snapshot_number;
  if (core::Status status = directory_.PrepareManifest(manifest_, buffer_); !status) return status;
  has_temporary_manifest_ = false;
  return directory_.SwapManifest();
}

// What the first save finds unchanged, it need not write.
void Recoverer::NoteSaved() {
  SavedState& saved = recovery_.saved;
  saved.snapshot_number = manifest_.snapshot_number;
  saved.has_log = manifest_.has_log;
  saved.log_position = recovery_.log_end;  // where a server without a log continues
  // Names may be others now than the manifest's.
  const RecoveryReport& report = recovery_.report;
  const bool as_saved = report.log.records == 0 && (report.filters_expired == 0 || log_files_.empty());
  saved.registry_change_count = registry_.ChangeCount() - (as_saved ? 0 : 1);
  saved.file_ids = FileIdsOf(manifest_);
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
  return std::any_of(recovery_.image_files.begin(), recovery_.image_files.end(),
                     [&](const LogImageFile& file) { return file.file_id == file_id; });
}

bool Recoverer::Remove(const std::string& path) {
  const core::Status status = disk_.Remove(path);
  if (!status) recovery_.report.warnings.push_back(status.error().message);
  return status.has_value();
}

void Recoverer::RemoveLeftover(const std::string& path) { recovery_.report.leftovers_removed += Remove(path); }

}  // namespace

core::Result<Recovery> Recover(DataDirectory& directory, Registry& registry, core::FilterClock& clock,
                               const RecoveryOptions& options) {
  return Recoverer(directory, registry, clock, options).Run();
}

}  // namespace bitsieve::server
