#include "server/persistence/recovery/recovery.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "server/persistence/disk/filter_file.h"
#include "server/persistence/log/log_current.h"
#include "server/persistence/recovery/recoverer.h"

namespace bitsieve::server {

using namespace commands;

namespace {

constexpr unsigned kMaxThreads = 8;

unsigned ThreadsOf(const RecoveryOptions& options) {
  if (options.threads != 0) return options.threads;
  return std::clamp(std::thread::hardware_concurrency(), 1U, kMaxThreads);
}

}  // namespace

core::Result<Recovery> Recoverer::Run() {
  const auto start = std::chrono::steady_clock::now();
  if (core::Status status = Read(); !status) return tl::unexpected(std::move(status.error()));
  core::Status status = CheckDamage(damage_, directory_.path(), options_.on_corrupt_filter, options_.on_corrupt_log);
  if (status) status = Publish();
  if (status) status = Repair();
  if (!status) return tl::unexpected(std::move(status.error()));
  RecordSaved();
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
  // Without memory, reading the log would be in vain; other problems are named together with those of the log.
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
    // A server writes its first manifest before any other file: files without one mean that it was lost.
    if (file_ids_.empty() && log_files_.empty() && !HasInLog(kLogCurrentName)) return {};
    RecordLostManifest(directory_.manifest_path() + ": is missing, but " + directory_.filters_path() + " holds " +
                       std::to_string(file_ids_.size()) + " filter files, " + directory_.log_path() + " " +
                       std::to_string(log_files_.size()) + " segments");
    return {};
  }
  core::Result<Manifest> manifest = ReadManifest(disk_, directory_.manifest_path(), buffer_);
  if (!manifest) {
    if (manifest.error().code != core::ErrorCode::kCorrupt) return tl::unexpected(std::move(manifest.error()));
    RecordLostManifest(manifest.error().message);
    return {};
  }
  manifest_ = std::move(*manifest);
  recovery_.report.snapshot_unix_ms = manifest_.saved_unix_ms;
  return {};
}

void Recoverer::RecordLostManifest(const std::string& reason) {
  damage_.manifest = reason;
  damage_.unnamed_filters = file_ids_.size();
  damage_.unusable_segments = log_files_.size() + (HasInLog(kLogCurrentName) ? 1 : 0);
  manifest_changed_ = true;
}

// Expired filters are dropped before any filter is read: damage to them does not matter.
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
  next_filter_id_ = manifest_.next_filter_id;
  names_.Expect(damage_.filters_listed);
  LoadedFilters loaded = LoadFilters(directory_, manifest_, file_ids_, registry_.quotas(), clock_,
                                     {.names = names_,
                                      .listener = options_.listener,
                                      .next_filter_id = next_filter_id_,
                                      .expired_unix_ms = expired_unix_ms_,
                                      .threads = ThreadsOf(options_)});
  TakeFilters(std::move(loaded.filters));
  TakePacks(std::move(loaded.packs));
}

// Reduces the manifest and filters_ to the filters that were loaded; the others are problems.
void Recoverer::TakeFilters(std::vector<core::Result<FilterPtr>> results) {
  std::vector<ManifestEntry> loaded;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) {
      RecordProblem(manifest_.filters[i].file_id, results[i].error());
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
      RecordProblem(listed[i].file_id, results[i].error());
      manifest_changed_ = true;
    }
  }
}

void Recoverer::TakePack(ManifestPack listed, LoadedPack loaded) {
  for (const LoadedPack::Damage& damage : loaded.damaged) {
    RecordProblem(listed.file_id, damage.error, damage.record);
    listed.live[damage.record] = false;
  }
  for (const uint32_t record : loaded.expired) listed.live[record] = false;
  recovery_.report.filters_expired += loaded.expired.size();
  manifest_changed_ |= !loaded.expired.empty() || !loaded.damaged.empty();
  if (loaded.loaded == 0 && loaded.damaged.empty()) {
    expired_ids_.push_back(listed.file_id);
    manifest_changed_ = true;
    return;
  }
  recovery_.report.bytes_read += listed.seal.bytes;
  manifest_.packs.push_back(std::move(listed));
  packs_.push_back(std::move(loaded));
}

void Recoverer::RecordProblem(uint64_t file_id, const core::Error& error, std::optional<uint32_t> record) {
  if (error.code == core::ErrorCode::kCorrupt) {
    damage_.filters.push_back({file_id, error.message, record});
  } else {
    damage_.hopeless.push_back(error);
  }
}

// ---- names and ids

core::Status Recoverer::AddFilters() {
  for (size_t i = 0; i < filters_.size(); ++i) {
    const ManifestEntry& entry = manifest_.filters[i];
    const FilterPtr& filter = filters_[i];
    recovery_.report.bytes_read += entry.seal.bytes;
    recovery_.saved.filters.emplace(filter.get(), SavedFilter{filter, filter->ChangeCount(), entry.file_id, entry.seal,
                                                              entry.sequence, entry.log_position});
    if (core::Status status = AddFilter(entry, filter); !status) return status;
  }
  filters_.clear();
  return {};
}

// The name and id were checked with the manifest; a record of a pack may have the same ones.
core::Status Recoverer::AddFilter(const ManifestEntry& listed, FilterPtr filter) {
  if (const Entry* const other = names_.Find(listed.name)) DropRecordOf(*other, "its name is in the snapshot twice");
  EntryPtr entry = names_.Make(listed.name);
  if (entry == nullptr) {
    return core::Fail(core::ErrorCode::kOutOfMemory,
                      directory_.path() + ": out of memory for the names of its filters");
  }
  const uint64_t id = listed.filter_id != 0 ? listed.filter_id : next_filter_id_++;
  filter->Attach(options_.listener, id, listed.sequence);
  entry->filter = std::move(filter);
  entry->expires_ms = listed.expires_unix_ms;
  entry->SetStamp(names_.NewStamps(1));
  in_files_.push_back({id, entry.get()});
  names_.Insert({&entry, 1});
  return {};
}

// Checks that no two filters have the same id; a record of a pack that repeats one is dropped as damaged.
void Recoverer::CheckIds() {
  uint64_t first = UINT64_MAX, last = 0, count = 0;
  const auto for_all = [&](const auto& visit) {
    for (const LoadedPack::Record& record : in_files_) visit(record.filter_id);
    for (const LoadedPack& pack : packs_) {
      for (const LoadedPack::Record& record : pack.records) {
        if (record.entry != nullptr) visit(record.filter_id);
      }
    }
  };
  for_all([&](uint64_t id) {
    first = std::min(first, id);
    last = std::max(last, id);
    ++count;
  });
  constexpr uint64_t kMaxBitsPerId = 64;
  if (count == 0) return;
  if ((last - first) / kMaxBitsPerId > count) return DropSecondIds();
  std::vector<bool> seen(last - first + 1);
  bool is_twice = false;
  for_all([&](uint64_t id) {
    is_twice |= seen[id - first];
    seen[id - first] = true;
  });
  if (is_twice) DropSecondIds();
}

void Recoverer::DropSecondIds() {
  struct Holder {
    uint64_t id;
    size_t pack;  // 0: it has a file of its own
    uint32_t record;
    auto operator<=>(const Holder&) const = default;
  };
  std::vector<Holder> holders;
  for (const LoadedPack::Record& record : in_files_) holders.push_back({record.filter_id, 0, 0});
  for (size_t i = 0; i < packs_.size(); ++i) {
    for (uint32_t record = 0; record < packs_[i].records.size(); ++record) {
      if (packs_[i].records[record].entry == nullptr) continue;
      holders.push_back({packs_[i].records[record].filter_id, i + 1, record});
    }
  }
  std::sort(holders.begin(), holders.end());
  for (size_t i = 1; i < holders.size(); ++i) {
    if (holders[i].id != holders[i - 1].id) continue;
    DropRecord(holders[i].pack - 1, holders[i].record,
               "filter " + std::to_string(holders[i].id) + " is in the snapshot twice");
  }
}

void Recoverer::DropRecordOf(const Entry& entry, const std::string& reason) {
  for (size_t i = 0; i < packs_.size(); ++i) {
    const auto& records = packs_[i].records;
    const auto record = std::ranges::find(records, &entry, &LoadedPack::Record::entry);
    if (record != records.end()) return DropRecord(i, static_cast<uint32_t>(record - records.begin()), reason);
  }
}

void Recoverer::DropRecord(size_t pack, uint32_t record, const std::string& reason) {
  ManifestPack& listed = manifest_.packs[pack];
  RecordProblem(listed.file_id,
                {core::ErrorCode::kCorrupt,
                 directory_.FilterPath(listed.file_id) + ": record " + std::to_string(record) + ": " + reason},
                record);
  listed.live[record] = false;
  manifest_changed_ = true;
  std::erase(packs_[pack].freezing, record);
  (void)names_.Take(*std::exchange(packs_[pack].records[record], {}).entry);
}

// ---- the log

core::Status Recoverer::ReplayLog() {
  if (core::Status status = AddFilters(); !status) return status;
  CheckIds();
  content_changes_before_log_ = core::ChangeMeter::Total();
  replay_.emplace(names_, registry_.quotas(), clock_,
                  LogReplay::Start{manifest_.log_position, next_filter_id_, options_.listener},
                  [this](const log::Image& image, core::MemoryBudget& memory) { return LoadImage(image, memory); });
  for (const LoadedPack& pack : packs_) {
    for (const uint32_t record : pack.freezing) {
      if (Entry* const entry = pack.records[record].entry) replay_->AddFreezing(entry->filter->id(), *entry);
    }
  }
  for (size_t i = 0; i < in_files_.size(); ++i) {
    if (manifest_.filters[i].freezing) replay_->AddFreezing(in_files_[i].filter_id, *in_files_[i].entry);
  }
  if (core::Status status = ReadSegments(); !status) return status;
  replay_->Finish();
  recovery_.saved.next_filter_id = replay_->next_filter_id();
  recovery_.filter_files = replay_->filter_files();
  return {};
}

// Called before the first record of the log; a start after an orderly stop finds none.
void Recoverer::IndexNames() {
  size_t count = in_files_.size();
  for (const LoadedPack& pack : packs_) count += pack.loaded;
  replay_->ExpectFilters(count);
  for (const LoadedPack::Record& record : in_files_) replay_->Add(record.filter_id, *record.entry);
  for (LoadedPack& pack : packs_) {
    for (const LoadedPack::Record& record : std::exchange(pack.records, {})) {
      if (record.entry != nullptr) replay_->Add(record.filter_id, *record.entry);
    }
  }
}

// A damaged image is forgotten for now, so that the rest of the log is verified as well.
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
  RecordProblem(image.file_id, filter.error());
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
      [&, is_first = true](uint64_t position, const log::Record& record) mutable {
        if (std::exchange(is_first, false)) IndexNames();
        return replay_->Apply(position, record);
      },
      *newest);
  if (!scan) {
    // All that no option helps against is named together.
    damage_.hopeless.push_back(scan.error());
    return {};
  }
  RecordShortLog(*scan);
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
// log continues from there, and the names are those of the snapshot.
void Recoverer::RecordShortLog(LogScan& scan) {
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
  for (const Entry* const entry : replay_->Freezing()) {
    if (entry->expires_ms != 0 && entry->expires_ms <= now_ms) continue;
    recovery_.freezing.push_back({std::string(entry->name()), entry->filter, entry->expires_ms});
  }
  replay_.reset();
  recovery_.report.filters_loaded = names_.size();
  try {
    const uint64_t expired = names_.Publish();
    recovery_.report.filters_expired += expired;
    recovery_.report.filters_loaded -= expired;
  } catch (const std::bad_alloc&) {
    return core::Fail(core::ErrorCode::kOutOfMemory,
                      directory_.path() + ": out of memory for the names of its filters");
  }
  return {};
}

core::Result<Recovery> Recover(DataDirectory& directory, Registry& registry, core::FilterClock& clock,
                               const RecoveryOptions& options) {
  return Recoverer(directory, registry, clock, options).Run();
}

}  // namespace bitsieve::server
