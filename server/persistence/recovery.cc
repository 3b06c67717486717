#include "server/persistence/recovery.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "server/persistence/filter_loader.h"
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
  Recoverer(DataDirectory& directory, Registry& registry, const RecoveryOptions& options)
      : directory_(directory), disk_(directory.disk()), registry_(registry), options_(options) {}

  core::Result<Recovery> Run() {
    const auto start = std::chrono::steady_clock::now();
    core::Status status = ListFiles();
    if (status) status = LoadManifest();
    if (status) DropExpired();
    if (status) status = LoadAll();
    if (status) status = Publish();
    if (status && manifest_changed_) status = CommitManifest();
    if (!status) return tl::unexpected(std::move(status.error()));
    NoteSaved();
    RemoveExpired();
    RemoveLeftovers();
    const auto duration = std::chrono::steady_clock::now() - start;
    report_.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    return Recovery{std::move(report_), std::move(saved_)};
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
  core::Status Quarantine(uint64_t file_id, const std::string& reason);
  core::Status MoveToQuarantine(const std::string& path, std::string_view name, const std::string& reason);
  core::Result<std::string> FreeQuarantinePath(std::string_view name);
  core::Status CommitManifest();
  core::Status Publish();
  void NoteSaved();
  void RemoveExpired();
  void RemoveLeftovers();
  bool Remove(const std::string& path);
  void RemoveLeftover(const std::string& path);

  DataDirectory& directory_;
  Disk& disk_;
  Registry& registry_;
  const RecoveryOptions& options_;

  bool has_manifest_ = false;
  bool has_temporary_manifest_ = false;
  std::vector<uint64_t> file_ids_;  // in filters/, ascending
  uint64_t first_free_id_ = 1;      // above all that were there at the start
  Manifest manifest_;
  bool manifest_changed_ = false;
  std::vector<uint64_t> expired_ids_;  // of the files of names whose time has come
  std::vector<FilterPtr> filters_;     // one for each entry of manifest_
  RecoveryReport report_;
  SavedState saved_;
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
  return {};
}

core::Status Recoverer::LoadManifest() {
  if (!has_manifest_) {
    // A server writes its first manifest before its first filter file: files alone mean that the manifest was lost.
    if (!file_ids_.empty()) {
      return HandleLostManifest({core::ErrorCode::kCorrupt, directory_.manifest_path() + ": is missing, but " +
                                                                directory_.filters_path() + " holds " +
                                                                std::to_string(file_ids_.size()) + " filter files"});
    }
    manifest_changed_ = true;
    return {};
  }
  ChunkBuffer buffer;
  core::Result<Manifest> manifest = ReadManifest(disk_, directory_.manifest_path(), buffer);
  if (!manifest) return HandleLostManifest(manifest.error());
  manifest_ = std::move(*manifest);
  report_.snapshot_unix_ms = manifest_.saved_unix_ms;
  return {};
}

// Without a manifest nobody knows the filters' names: all of them go aside, the manifest last, so that a crash on the
// way finds the same damage again.
core::Status Recoverer::HandleLostManifest(const core::Error& error) {
  if (error.code != core::ErrorCode::kCorrupt) return tl::unexpected(error);
  if (options_.on_corrupt == OnCorrupt::kRefuse) {
    return Refuse(error, "put the right MANIFEST there, or set on-corrupt to quarantine to start empty");
  }
  while (!file_ids_.empty()) {
    core::Status status = Quarantine(file_ids_.back(), "its manifest was lost: " + error.message);
    if (!status) return status;
  }
  manifest_changed_ = true;
  if (!has_manifest_) return {};
  return MoveToQuarantine(directory_.manifest_path(), DataDirectory::kManifestName, error.message);
}

// Before anything is read: what nobody will ever ask for again may as well be damaged.
void Recoverer::DropExpired() {
  const int64_t now_ms = registry_.NowMs();
  report_.filters_expired = std::erase_if(manifest_.filters, [&](const ManifestEntry& entry) {
    const bool expired = entry.expires_unix_ms != 0 && entry.expires_unix_ms <= now_ms;
    if (expired) expired_ids_.push_back(entry.file_id);
    return expired;
  });
  manifest_changed_ |= !expired_ids_.empty();
}

core::Status Recoverer::LoadAll() {
  std::vector<core::Result<FilterPtr>> results =
      LoadFilters(directory_, manifest_.filters, file_ids_, registry_.memory(), ThreadsOf(options_));
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
    const core::Status moved = Quarantine(manifest_.filters[i].file_id, results[i].error().message);
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

core::Status Recoverer::Quarantine(uint64_t file_id, const std::string& reason) {
  const std::string path = directory_.FilterPath(file_id);
  if (!std::binary_search(file_ids_.begin(), file_ids_.end(), file_id)) {
    report_.quarantined.push_back({path, "", reason});
    return {};
  }
  core::Status status = MoveToQuarantine(path, DataDirectory::FilterFileName(file_id), reason);
  if (status) std::erase(file_ids_, file_id);
  return status;
}

core::Status Recoverer::MoveToQuarantine(const std::string& path, std::string_view name, const std::string& reason) {
  core::Status status = disk_.CreateDirectory(directory_.quarantine_path());
  if (!status) return status;
  const core::Result<std::string> target = FreeQuarantinePath(name);
  if (!target) return tl::unexpected(target.error());
  status = disk_.Rename(path, *target);
  // The new name first: in between, a power failure may show both, never neither.
  if (status) status = disk_.SyncDirectory(directory_.quarantine_path());
  if (status) status = disk_.SyncDirectory(path.substr(0, path.rfind('/')));
  if (status) report_.quarantined.push_back({path, *target, reason});
  return status;
}

// "17.filter", or "17.filter.1" and so on if an earlier start put a file of that name there.
core::Result<std::string> Recoverer::FreeQuarantinePath(std::string_view name) {
  const core::Result<std::vector<std::string>> taken = disk_.List(directory_.quarantine_path());
  if (!taken) return tl::unexpected(taken.error());
  std::string candidate(name);
  for (uint64_t i = 1; Contains(*taken, candidate); ++i) candidate = std::string(name) + "." + std::to_string(i);
  return directory_.quarantine_path() + "/" + candidate;
}

// So that what is gone for good is not missed again by the next start.
core::Status Recoverer::CommitManifest() {
  manifest_.next_file_id = std::max(manifest_.next_file_id, first_free_id_);
  ++manifest_.snapshot_number;
  ChunkBuffer buffer;
  if (core::Status status = directory_.PrepareManifest(manifest_, buffer); !status) return status;
  has_temporary_manifest_ = false;
  return directory_.SwapManifest();
}

core::Status Recoverer::Publish() {
  for (size_t i = 0; i < filters_.size(); ++i) {
    const ManifestEntry& entry = manifest_.filters[i];
    saved_.filters.emplace(filters_[i].get(),
                           SavedFilter{filters_[i], filters_[i]->ChangeCount(), entry.file_id, entry.seal});
    if (registry_.InsertIfAbsent(entry.name, std::move(filters_[i]), entry.expires_unix_ms) == nullptr) {
      return core::Fail(core::ErrorCode::kOutOfMemory,
                        directory_.path() + ": no memory is left for the names of its filters; " + MemoryAdvice());
    }
    report_.bytes_read += entry.seal.bytes;
  }
  report_.filters_loaded = filters_.size();
  return {};
}

// What the first save finds unchanged, it need not write.
void Recoverer::NoteSaved() {
  saved_.snapshot_number = manifest_.snapshot_number;
  saved_.next_file_id = std::max(manifest_.next_file_id, first_free_id_);
  saved_.registry_change_count = registry_.ChangeCount();
  saved_.file_ids = FileIdsOf(manifest_);
}

void Recoverer::RemoveExpired() {
  for (const uint64_t id : expired_ids_) {
    if (std::erase(file_ids_, id) != 0) Remove(directory_.FilterPath(id));
  }
}

void Recoverer::RemoveLeftovers() {
  if (has_temporary_manifest_) RemoveLeftover(directory_.temporary_manifest_path());
  for (const uint64_t id : file_ids_) {
    const bool listed = std::binary_search(saved_.file_ids.begin(), saved_.file_ids.end(), id);
    if (!listed) RemoveLeftover(directory_.FilterPath(id));
  }
}

bool Recoverer::Remove(const std::string& path) {
  const core::Status status = disk_.Remove(path);
  if (!status) report_.warnings.push_back(status.error().message);
  return status.has_value();
}

void Recoverer::RemoveLeftover(const std::string& path) { report_.leftovers_removed += Remove(path); }

}  // namespace

core::Result<Recovery> Recover(DataDirectory& directory, Registry& registry, const RecoveryOptions& options) {
  return Recoverer(directory, registry, options).Run();
}

}  // namespace bitsieve::server
