#include "server/persistence/recovery.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "server/persistence/disk/filter_file.h"
#include "server/persistence/log/log_current.h"
#include "server/persistence/recoverer.h"

namespace bitsieve::server {
namespace {

constexpr unsigned kMaxThreads = 8;

unsigned ThreadsOf(const RecoveryOptions& options) {
  if (options.threads != 0) return options.threads;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads);
}

// A loaded record, as LogReplay is to remember it.
uint64_t MarkOf(size_t pack, size_t index) { return (uint64_t{pack} << 32 | index) + 1; }

}  // namespace

core::Result<Recovery> Recoverer::Run() {
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
  expired_unix_ms_ = registry_.WallMs();
  recovery_.report.filters_expired = std::erase_if(manifest_.filters, [&](const ManifestEntry& entry) {
    const bool expired = entry.expires_unix_ms != 0 && entry.expires_unix_ms <= expired_unix_ms_;
    if (expired) expired_ids_.push_back(entry.file_id);
    return expired;
  });
  manifest_changed_ |= !expired_ids_.empty();
}

void Recoverer::LoadAll() {
  damage_.filters_listed = manifest_.filters.size();
  for (const ManifestPack& pack : manifest_.packs) {
    damage_.filters_listed += static_cast<uint64_t>(std::count(pack.live.begin(), pack.live.end(), true));
  }
  LoadedFilters loaded = LoadFilters(directory_, manifest_, file_ids_, registry_.quotas(), clock_,
                                     {.expired_unix_ms = expired_unix_ms_, .threads = ThreadsOf(options_)});
  TakeFilters(std::move(loaded.filters));
  TakePacks(std::move(loaded.packs));
}

// What is left of manifest and results are the filters that were loaded.
void Recoverer::TakeFilters(std::vector<core::Result<FilterPtr>> results) {
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

void Recoverer::TakePacks(std::vector<core::Result<LoadedPack>> results) {
  std::vector<ManifestPack> listed = std::exchange(manifest_.packs, {});
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) {
      TakePack(std::move(listed[i]), std::move(*results[i]));
    } else {
      NoteProblem(listed[i].file_id, results[i].error());
      manifest_changed_ = true;
    }
  }
}

void Recoverer::TakePack(ManifestPack listed, LoadedPack loaded) {
  for (const LoadedPack::Damage& damage : loaded.damaged) {
    NoteProblem(listed.file_id, damage.error, damage.record);
    listed.live[damage.record] = false;
  }
  for (const uint32_t record : loaded.expired) listed.live[record] = false;
  recovery_.report.filters_expired += loaded.expired.size();
  manifest_changed_ |= !loaded.expired.empty() || !loaded.damaged.empty();
  if (loaded.records.empty() && loaded.damaged.empty()) {
    expired_ids_.push_back(listed.file_id);
    manifest_changed_ = true;
    return;
  }
  manifest_.packs.push_back(std::move(listed));
  packs_.push_back(std::move(loaded));
}

void Recoverer::NoteProblem(uint64_t file_id, const core::Error& error, std::optional<uint32_t> record) {
  if (error.code == core::ErrorCode::kCorrupt) {
    damage_.filters.push_back({file_id, error.message, record});
  } else {
    damage_.hopeless.push_back(error);
  }
}

// ---- the log

core::Status Recoverer::ReplayLog() {
  content_changes_before_log_ = core::ChangeMeter::Total();
  replay_.emplace(registry_.quotas(), clock_, manifest_.log_position, manifest_.next_filter_id,
                  [this](const log::Image& image, core::MemoryBudget& memory) { return LoadImage(image, memory); });
  size_t count = filters_.size();
  for (const LoadedPack& pack : packs_) count += pack.records.size();
  replay_->ExpectFilters(count);
  AddFilters();
  AddRecords();
  if (core::Status status = ReadSegments(); !status) return status;
  replay_->Finish();
  recovery_.saved.next_filter_id = replay_->next_filter_id();
  recovery_.image_files = replay_->image_files();
  return {};
}

void Recoverer::AddFilters() {
  for (size_t i = 0; i < filters_.size(); ++i) {
    const ManifestEntry& entry = manifest_.filters[i];
    const FilterPtr& filter = filters_[i];
    recovery_.report.bytes_read += entry.seal.bytes;
    recovery_.saved.filters.emplace(filter.get(), SavedFilter{filter, filter->ChangeCount(), entry.file_id, entry.seal,
                                                              entry.sequence, entry.log_position});
    // Its names and ids were checked with the manifest.
    (void)replay_->Add(entry.name, entry.filter_id,
                       {filter, &registry_.MemoryOf(entry.name), entry.sequence, entry.freezing},
                       entry.expires_unix_ms);
  }
  filters_.clear();
}

void Recoverer::AddRecords() {
  for (size_t pack = 0; pack < packs_.size(); ++pack) {
    ManifestPack& listed = manifest_.packs[pack];
    recovery_.report.bytes_read += listed.seal.bytes;
    for (size_t i = 0; i < packs_[pack].records.size(); ++i) {
      LoadedRecord& record = packs_[pack].records[i];
      const core::Status status = replay_->Add(record.name, record.filter_id,
                                               {std::move(record.filter), &registry_.MemoryOf(record.name),
                                                record.sequence, record.freezing, MarkOf(pack, i)},
                                               record.expires_unix_ms);
      if (status) continue;
      const std::string path = directory_.FilterPath(listed.file_id);
      NoteProblem(listed.file_id,
                  {core::ErrorCode::kCorrupt,
                   path + ": record " + std::to_string(record.record) + ": " + status.error().message},
                  record.record);
      listed.live[record.record] = false;
      manifest_changed_ = true;
    }
  }
}

// A damaged one is forgotten for now, so that the rest of the log is verified as well.
core::Result<FilterPtr> Recoverer::LoadImage(const log::Image& image, core::MemoryBudget& memory) {
  const std::string path = directory_.FilterPath(image.file_id);
  first_free_id_ = std::max(first_free_id_, image.file_id + 1);
  const bool present = std::binary_search(file_ids_.begin(), file_ids_.end(), image.file_id);
  core::Result<std::unique_ptr<core::Filter>> filter =
      present ? ReadFilterFile(disk_, path, image.seal, memory, clock_, buffer_)
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
      disk_, log_files_, LogBeginOf(manifest_),
      [&](uint64_t position, const log::Record& record) { return replay_->Apply(position, record); }, *newest);
  if (!scan) {
    // All that no option helps against is named together.
    damage_.hopeless.push_back(scan.error());
    return {};
  }
  NoteShortLog(*scan);
  if (scan->missing) scan->missing = directory_.log_path() + ": " + *scan->missing;
  if (scan->damage) damage_.log.push_back(scan->damage->reason);
  if (scan->missing) damage_.log.push_back(*scan->missing);
  damage_.log_cut = scan->damage;
  recovery_.log_end = std::max(scan->end, manifest_.log_position);
  recovery_.report.log = std::move(*scan);
  recovery_.report.log_problems = damage_.log;
  return {};
}

// The log was durable up to the snapshot's position if the snapshot needs it: an end before that is damage. Then the
// log goes on from there, and the names are those of the snapshot.
void Recoverer::NoteShortLog(LogScan& scan) {
  const uint64_t needed = manifest_.log_position;
  if (LogBeginOf(manifest_) == needed || scan.end >= needed) return;
  if (!scan.damage) {
    scan.damage = std::exchange(scan.torn, std::nullopt).value_or(LogCut());
    scan.damage->position = scan.end;
    scan.damage->reason = directory_.log_path() + ": ends at position " + std::to_string(scan.end) +
                          ", but the snapshot needs it up to " + std::to_string(needed) +
                          (scan.damage->reason.empty() ? "" : ": " + scan.damage->reason);
  }
  manifest_.log_position = scan.end;
  for (ManifestEntry& entry : manifest_.filters) entry.log_position = std::min(entry.log_position, scan.end);
  manifest_changed_ = true;
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
    registry_.quotas().Assign(*replayed.memory, name);
    if (registry_.InsertIfAbsent(name, replayed.filter, meaning.expires_ms) == nullptr) {
      return core::Fail(core::ErrorCode::kOutOfMemory,
                        directory_.path() + ": no memory is left for the names of its filters");
    }
    if (replayed.freezing) recovery_.freezing.push_back({name, replayed.filter, meaning.expires_ms});
    NoteSavedRecord(name, meaning);
    ++recovery_.report.filters_loaded;
  }
  replay_.reset();
  return {};
}

// Unless the log gave the name, the expiry or the filter another meaning since.
void Recoverer::NoteSavedRecord(const std::string& name, const ReplayedName& meaning) {
  const uint64_t mark = replay_->filter(meaning.id).mark;
  if (mark == 0) return;
  const auto pack = static_cast<uint32_t>((mark - 1) >> 32);
  const LoadedRecord& record = packs_[pack].records[static_cast<uint32_t>(mark - 1)];
  if (record.name != name || record.expires_unix_ms != meaning.expires_ms || record.freezing) return;
  const uint64_t changes = ChangesOf(record.sequence, record.change_count);
  recovery_.saved.records.push_back({registry_.StateOf(name).stamp, changes, pack, record.record});
}

core::Result<Recovery> Recover(DataDirectory& directory, Registry& registry, core::FilterClock& clock,
                               const RecoveryOptions& options) {
  return Recoverer(directory, registry, clock, options).Run();
}

}  // namespace bitsieve::server
