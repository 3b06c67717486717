#include "server/persistence/recovery.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "server/persistence/filter_file.h"
#include "server/persistence/filter_loader.h"
#include "server/persistence/log_replay.h"
#include "server/persistence/manifest.h"

namespace bitsieve::server {
namespace {

constexpr unsigned kMaxThreads = 8;
constexpr size_t kMaxProblemsTold = 1000;

unsigned ThreadsOf(const RecoveryOptions& options) {
  if (options.threads != 0) return options.threads;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads);
}

bool Contains(const std::vector<std::string>& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

tl::unexpected<core::Error> Refuse(const core::Error& error, std::string_view advice) {
  return core::Fail(error.code, error.message + "; " + std::string(advice));
}

// A start that may only proceed in this order; each step is one function.
class Recoverer {
 public:
  Recoverer(DataDirectory& directory, Registry& registry, ReplayClock& clock, const RecoveryOptions& options)
      : directory_(directory),
        disk_(directory.disk()),
        registry_(registry),
        clock_(clock),
        options_(options),
        quarantine_(directory) {}

  core::Result<Recovery> Run() {
    const auto start = std::chrono::steady_clock::now();
    core::Status status = ListFiles();
    if (status) status = LoadManifest();
    if (status && log_files_.empty()) DropExpired();
    if (status) status = LoadAll();
    if (status) status = ReplayLog();
    if (status && manifest_changed_) status = CommitManifest();
    if (!status) return tl::unexpected(std::move(status.error()));
    NoteSaved();
    RemoveExpired();
    RemoveLeftovers();
    const auto duration = std::chrono::steady_clock::now() - start;
    recovery_.report.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    recovery_.report.quarantined = quarantine_.taken();
    recovery_.lost_some = recovery_.report.log.damage || !quarantine_.taken().empty();
    return std::move(recovery_);
  }

 private:
  core::Status ListFiles();
  core::Status LoadManifest();
  core::Status HandleLostManifest(const core::Error& error);
  void DropExpired();
  core::Status LoadAll();
  core::Status HandleProblems(std::vector<core::Result<FilterPtr>>& results);
  bool MayQuarantine(const core::Error& error) const;
  std::string MemoryAdvice() const;
  core::Status RefuseAll(const std::vector<core::Result<FilterPtr>>& results) const;
  core::Status SetAside(uint64_t file_id, const std::string& reason);
  core::Status ReplayLog();
  core::Result<FilterPtr> LoadImage(const log::Image& image);
  core::Status ReadSegments(LogReplay& replay);
  core::Status HandleDamage(const LogCut& damage);
  core::Status CommitManifest();
  core::Status Publish(const LogReplay& replay);
  void NoteSaved();
  void RemoveExpired();
  void RemoveLeftovers();
  bool IsNeeded(uint64_t file_id) const;
  bool Remove(const std::string& path);
  void RemoveLeftover(const std::string& path);

  DataDirectory& directory_;
  Disk& disk_;
  Registry& registry_;
  ReplayClock& clock_;
  const RecoveryOptions& options_;
  Quarantine quarantine_;

  bool has_manifest_ = false;
  bool has_temporary_manifest_ = false;
  std::vector<uint64_t> file_ids_;  // in filters/, ascending
  uint64_t first_free_id_ = 1;      // above all that were there at the start
  Manifest manifest_;
  bool manifest_changed_ = false;
  std::vector<LogFile> log_files_;
  std::vector<uint64_t> expired_ids_;  // of the files of names whose time has come
  std::vector<FilterPtr> filters_;     // one for each entry of manifest_
  ChunkBuffer buffer_;
  Recovery recovery_;
};

core::Status Recoverer::ListFiles() {
  const core::Result<std::vector<std::string>> top = disk_.List(directory_.path());
  if (!top) return tl::unexpected(top.error());
  has_manifest_ = Contains(*top, DataDirectory::kManifestName);
  has_temporary_manifest_ = Contains(*top, DataDirectory::kTemporaryManifestName);
  const core::Result<std::vector<std::string>> files = disk_.List(directory_.filters_path());
  if (!files) return tl::unexpected(files.error());
  for (const std::string& name : *files) {
    if (const std::optional<uint64_t> id = DataDirectory::FilterFileId(name)) file_ids_.push_back(*id);
  }
  std::sort(file_ids_.begin(), file_ids_.end());
  if (!file_ids_.empty()) first_free_id_ = file_ids_.back() + 1;
  if (!Contains(*top, "log")) return {};
  core::Result<std::vector<LogFile>> log_files = ListLog(disk_, directory_.log_path());
  if (!log_files) return tl::unexpected(std::move(log_files.error()));
  log_files_ = std::move(*log_files);
  return {};
}

core::Status Recoverer::LoadManifest() {
  if (!has_manifest_) {
    // A server writes its first manifest before any other file: files alone mean that the manifest was lost.
    if (!file_ids_.empty() || !log_files_.empty()) {
      return HandleLostManifest({core::ErrorCode::kCorrupt,
                                 directory_.manifest_path() + ": is missing, but " + directory_.filters_path() +
                                     " holds " + std::to_string(file_ids_.size()) + " filter files, " +
                                     directory_.log_path() + " " + std::to_string(log_files_.size()) + " segments"});
    }
    manifest_changed_ = true;
    return {};
  }
  ChunkBuffer buffer;
  core::Result<Manifest> manifest = ReadManifest(disk_, directory_.manifest_path(), buffer);
  if (!manifest) return HandleLostManifest(manifest.error());
  manifest_ = std::move(*manifest);
  recovery_.report.snapshot_unix_ms = manifest_.saved_unix_ms;
  return {};
}

// Without a manifest nobody knows the filters' names: all of them go aside, the manifest last, so that a crash on the
// way finds the same damage again.
core::Status Recoverer::HandleLostManifest(const core::Error& error) {
  if (error.code != core::ErrorCode::kCorrupt) return tl::unexpected(error);
  if (options_.on_corrupt != OnCorrupt::kQuarantine) {
    return Refuse(error, "put the right MANIFEST there, or set on-corrupt to quarantine to start empty");
  }
  while (!file_ids_.empty()) {
    core::Status status = SetAside(file_ids_.back(), "its manifest was lost: " + error.message);
    if (!status) return status;
  }
  for (const LogFile& file : std::exchange(log_files_, {})) {
    core::Status status = quarantine_.Take(file.path, "its manifest was lost: " + error.message);
    if (!status) return status;
  }
  manifest_changed_ = true;
  if (!has_manifest_) return {};
  return quarantine_.Take(directory_.manifest_path(), error.message);
}

// Before anything is read: what nobody will ever ask for again may as well be damaged.
void Recoverer::DropExpired() {
  const int64_t now_ms = registry_.NowMs();
  recovery_.report.filters_expired = std::erase_if(manifest_.filters, [&](const ManifestEntry& entry) {
    const bool expired = entry.expires_unix_ms != 0 && entry.expires_unix_ms <= now_ms;
    if (expired) expired_ids_.push_back(entry.file_id);
    return expired;
  });
  manifest_changed_ |= !expired_ids_.empty();
}

core::Status Recoverer::LoadAll() {
  std::vector<core::Result<FilterPtr>> results =
      LoadFilters(directory_, manifest_.filters, file_ids_, registry_.memory(), clock_, ThreadsOf(options_));
  if (core::Status status = HandleProblems(results); !status) return status;
  // What is left of manifest and results are the filters that were loaded.
  std::vector<ManifestEntry> loaded;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    loaded.push_back(std::move(manifest_.filters[i]));
    filters_.push_back(std::move(*results[i]));
  }
  manifest_.filters = std::move(loaded);
  return {};
}

core::Status Recoverer::HandleProblems(std::vector<core::Result<FilterPtr>>& results) {
  const bool refuse = std::any_of(results.begin(), results.end(), [this](const core::Result<FilterPtr>& result) {
    return !result && !MayQuarantine(result.error());
  });
  if (refuse) return RefuseAll(results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) continue;
    manifest_changed_ = true;
    const core::Status moved = SetAside(manifest_.filters[i].file_id, results[i].error().message);
    if (!moved) return moved;
  }
  return {};
}

bool Recoverer::MayQuarantine(const core::Error& error) const {
  return options_.on_corrupt == OnCorrupt::kQuarantine && error.code == core::ErrorCode::kCorrupt;
}

std::string Recoverer::MemoryAdvice() const {
  return "maxmemory is " + std::to_string(registry_.memory().limit_bytes()) + " bytes (0: no limit): raise it";
}

core::Status Recoverer::RefuseAll(const std::vector<core::Result<FilterPtr>>& results) const {
  std::string lines;
  size_t problems = 0;
  bool damaged = false;
  const core::Error* hardest = nullptr;  // one that quarantine would not help against, if there is any
  for (const core::Result<FilterPtr>& result : results) {
    if (result) continue;
    const bool is_damage = result.error().code == core::ErrorCode::kCorrupt;
    if (hardest == nullptr || !is_damage) hardest = &result.error();
    damaged |= is_damage;
    if (++problems <= kMaxProblemsTold) lines += "\n  " + result.error().message;
  }
  if (problems > kMaxProblemsTold) lines += "\n  and " + std::to_string(problems - kMaxProblemsTold) + " more";
  if (hardest->code == core::ErrorCode::kOutOfMemory) lines += "\n" + MemoryAdvice();
  if (damaged) lines += "\nput the files back from a copy, or set on-corrupt to quarantine to start without them";
  return core::Fail(hardest->code, directory_.path() + ": " + std::to_string(problems) + " of " +
                                       std::to_string(results.size()) + " filters cannot be loaded:" + lines);
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

// ---- the log

core::Status Recoverer::ReplayLog() {
  LogReplay replay(registry_.memory(), clock_, manifest_.next_filter_id,
                   [this](const log::Image& image) { return LoadImage(image); });
  for (size_t i = 0; i < filters_.size(); ++i) {
    const ManifestEntry& entry = manifest_.filters[i];
    const FilterPtr& filter = filters_[i];
    recovery_.report.bytes_read += entry.seal.bytes;
    recovery_.saved.filters.emplace(filter.get(),
                                    SavedFilter{filter, filter->ChangeCount(), entry.file_id, entry.seal});
    replay.Add(entry.name, entry.filter_id, {filter, entry.sequence, entry.freezing}, entry.expires_unix_ms);
  }
  filters_.clear();
  if (core::Status status = ReadSegments(replay); !status) return status;
  replay.Finish();
  recovery_.saved.next_filter_id = replay.next_filter_id();
  recovery_.image_files = replay.image_files();
  return Publish(replay);
}

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
  if (!MayQuarantine(filter.error())) {
    if (filter.error().code != core::ErrorCode::kCorrupt) return tl::unexpected(std::move(filter.error()));
    return core::Fail(core::ErrorCode::kCorrupt,
                      filter.error().message + " (on-corrupt quarantine would set it aside)");
  }
  if (core::Status status = SetAside(image.file_id, filter.error().message); !status) {
    return tl::unexpected(std::move(status.error()));
  }
  return FilterPtr();
}

core::Status Recoverer::ReadSegments(LogReplay& replay) {
  const core::Result<LogScan> scan =
      ReadLog(disk_, log_files_, manifest_.log_position,
              [&](uint64_t position, const log::Record& record) { return replay.Apply(position, record); });
  if (!scan) {
    if (scan.error().code != core::ErrorCode::kOutOfMemory) return tl::unexpected(scan.error());
    return Refuse(scan.error(), MemoryAdvice());
  }
  recovery_.report.log = *scan;
  recovery_.log_end = std::max(scan->end, manifest_.log_position);
  if (scan->damage) {
    if (core::Status status = HandleDamage(*scan->damage); !status) return status;
  }
  // What is served from now on must not vanish any more.
  for (const LogFile& file : log_files_) {
    if (core::Status status = disk_.SyncFile(file.path); !status) return status;
  }
  return {};
}

// The next segment begins where the damage does, and so supersedes the rest of the damaged one; those behind would come
// after it.
core::Status Recoverer::HandleDamage(const LogCut& damage) {
  if (options_.on_corrupt != OnCorrupt::kTruncate) {
    return Refuse({core::ErrorCode::kCorrupt, damage.reason},
                  "put the log back from a copy, or set on-corrupt to truncate to lose the " +
                      std::to_string(damage.lost_bytes) + " bytes from there on (" +
                      std::to_string(damage.lost_records) + " readable records among them)");
  }
  const auto gone = [&](const LogFile& file) { return file.start >= damage.position; };
  for (const LogFile& file : log_files_) {
    if (!gone(file)) continue;
    if (core::Status status = quarantine_.Take(file.path, "behind damage: " + damage.reason); !status) return status;
  }
  std::erase_if(log_files_, gone);
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

core::Status Recoverer::Publish(const LogReplay& replay) {
  const int64_t now_ms = registry_.NowMs();
  for (const auto& [name, meaning] : replay.names()) {
    if (meaning.expires_ms != 0 && meaning.expires_ms <= now_ms) {
      ++recovery_.report.filters_expired;
      continue;
    }
    const ReplayedFilter& replayed = replay.filter(meaning.id);
    replayed.filter->Attach(nullptr, meaning.id, replayed.sequence);
    if (registry_.InsertIfAbsent(name, replayed.filter, meaning.expires_ms) == nullptr) {
      return core::Fail(core::ErrorCode::kOutOfMemory,
                        directory_.path() + ": no memory is left for the names of its filters; " + MemoryAdvice());
    }
    if (replayed.freezing) recovery_.freezing.push_back({name, replayed.filter, meaning.expires_ms});
    ++recovery_.report.filters_loaded;
  }
  return {};
}

// What the first save finds unchanged, it need not write.
void Recoverer::NoteSaved() {
  SavedState& saved = recovery_.saved;
  saved.snapshot_number = manifest_.snapshot_number;
  saved.log_position = recovery_.log_end;  // from where a server without a log of its own goes on
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

core::Result<Recovery> Recover(DataDirectory& directory, Registry& registry, ReplayClock& clock,
                               const RecoveryOptions& options) {
  return Recoverer(directory, registry, clock, options).Run();
}

}  // namespace bitsieve::server
