#include "server/persistence/snapshot/snapshot_writer.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <new>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/filter/image_pressure.h"
#include "server/persistence/disk/filter_file.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// Maximum number of packs with less than half of kPackBytes alive.
constexpr size_t kMaxSmallPacks = 16;

// The saved record of this very object, or null.
const SavedFilter* FindSaved(const SavedState& saved, const FilterPtr& filter) {
  const auto found = saved.filters.find(filter.get());
  return found != saved.filters.end() && found->second.filter == core::WeakFilterPtr(filter) ? &found->second : nullptr;
}

// Snapshots that may leave a filter's changes to the log: a day of one each minute. Each leaves a segment.
constexpr uint32_t kMaxSnapshotsInLog = 1440;
// Log bytes of a change without its hashes, but with its share of a frame, rounded up.
constexpr uint64_t kLoggedBytesPerChange = 48;

tl::unexpected<core::Error> OverdueError() {
  return core::Fail(core::ErrorCode::kIo, "the snapshot was not complete in time");
}

// An image whose reading fails when the snapshot is overdue.
class TimedImage final : public core::FilterImage {
 public:
  TimedImage(core::FilterImage& image, std::function<bool()> is_overdue)
      : image_(image), is_overdue_(std::move(is_overdue)) {}

  const std::string& header() const override { return image_.header(); }
  uint64_t body_bytes() const override { return image_.body_bytes(); }
  core::Status Read(uint64_t offset, std::span<std::byte> out) override {
    if (is_overdue_()) return OverdueError();
    return image_.Read(offset, out);
  }

 private:
  core::FilterImage& image_;
  const std::function<bool()> is_overdue_;
};

bool IsFreezing(const core::Filter& filter) {
  return filter.capabilities().freeze && filter.Info().freeze.state == core::FreezeState::kBuilding;
}

std::vector<ManifestPack> PacksOf(const SavedState& saved) {
  std::vector<ManifestPack> packs;
  packs.reserve(saved.packs.size());
  for (const SavedPack& pack : saved.packs) packs.push_back({pack.file_id, pack.seal, pack.live});
  return packs;
}

uint64_t LiveBytes(const SavedPack& pack) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < pack.live.size(); ++i) bytes += pack.live[i] ? pack.records->bytes(i) : 0;
  return bytes;
}

}  // namespace

// A snapshot in the making.
struct SnapshotWriter::Draft {
  Manifest manifest;
  SavedState saved;
  std::vector<uint64_t> written;   // new files
  PackBuilder pack;                // the next file
  uint32_t pack_number = 0;        // of that; 0: it is empty
  PackRecords records;             // of it
  std::vector<NamedFilter> large;  // that are yet to be written
  size_t kept_packs = 0;           // of saved.packs, the first ones: those of the last snapshot
  uint32_t growth_percent = 0;     // as given to Save
  bool may_be_named = false;       // by the manifest that stands
  SaveReport report;
};

SnapshotWriter::SnapshotWriter(const SnapshotParts& parts, SavedState saved)
    : directory_(parts.directory),
      registry_(parts.registry),
      file_ids_(parts.file_ids),
      image_pool_(parts.image_pool),
      clock_(parts.clock),
      recorder_(parts.recorder),
      chunk_bytes_(parts.chunk_bytes),
      max_packed_bytes_(parts.max_packed_bytes),
      saved_(std::move(saved)),
      next_pack_number_(saved_.packs.empty() ? 1 : saved_.packs.back().number + 1),
      changes_before_(saved_.changes_before) {}

core::Result<SaveReport> SnapshotWriter::Save(uint32_t growth_percent) {
  Draft draft;
  draft.growth_percent = growth_percent;
  try {
    return Save(draft);
  } catch (const std::bad_alloc&) {
    if (!draft.may_be_named) AbandonDraft(draft);
    return core::Fail(core::ErrorCode::kOutOfMemory, core::kOutOfMemoryText);
  }
}

core::Result<SaveReport> SnapshotWriter::Save(Draft& draft) {
  const uint64_t changes_before = ChangesSoFar(registry_);
  draft.saved.has_log = recorder_ != nullptr;
  // Taken before the names are collected: a change in between makes the next save write once too often, never too
  // seldom.
  draft.saved.registry_change_count = registry_.ChangeCount();
  core::Status status = WriteFilters(draft);
  if (!status) {
    AbandonDraft(draft);
    return tl::unexpected(std::move(status.error()));
  }
  const bool unchanged = draft.written.empty() && draft.saved.log_position == saved_.log_position &&
                         draft.saved.has_log == saved_.has_log &&
                         draft.saved.registry_change_count == saved_.registry_change_count && garbage_.empty();
  if (!unchanged) {
    status = CommitDraft(draft);
    if (!status) return tl::unexpected(std::move(status.error()));
  }
  changes_before_.store(changes_before, std::memory_order_relaxed);
  return std::move(draft.report);
}

core::Status SnapshotWriter::WriteFilters(Draft& draft) {
  KeepPacks(draft);
  core::Status status = registry_.CollectEach(
      [&] {
        draft.saved.log_position =
            recorder_ == nullptr ? saved_.log_position : recorder_->log().appended().BeginSegment();
      },
      [&](std::vector<NamedFilter>& batch) { return WriteBatch(draft, batch); });
  if (status) status = WritePack(draft);
  // Sorted by stamp: the same names make the same files.
  std::sort(draft.large.begin(), draft.large.end(),
            [](const NamedFilter& a, const NamedFilter& b) { return a.stamp < b.stamp; });
  for (NamedFilter& named : draft.large) {
    if (status) status = WriteFilter(draft, named);
    if (!status) return status;
    registry_.MarkSaved({&named, 1});  // if it was small enough for a pack
    named.filter.reset();              // a filter deleted in between frees its memory now
  }
  if (status) status = WritePack(draft);
  if (!status) return status;
  std::erase_if(draft.saved.packs, [](const SavedPack& pack) { return std::ranges::count(pack.live, true) == 0; });
  std::sort(draft.manifest.filters.begin(), draft.manifest.filters.end(),
            [](const ManifestEntry& a, const ManifestEntry& b) { return a.name < b.name; });
  return draft.written.empty() ? core::Status() : directory_.disk().SyncDirectory(directory_.filters_path());
}

// Large filters wait until all names have been visited, because deleted filters are kept until then.
core::Status SnapshotWriter::WriteBatch(Draft& draft, std::vector<NamedFilter>& batch) {
  draft.report.filters += batch.size();
  for (NamedFilter& named : batch) {
    if (StaysInPack(draft, named)) {
      named.saved = {};  // as it is noted already
    } else if (named.filter->size_bytes() > max_packed_bytes_) {
      draft.large.push_back(std::move(named));
      named.saved = {};
      continue;
    } else if (core::Status status = WriteFilter(draft, named); !status) {
      return status;
    }
    named.filter.reset();
  }
  registry_.MarkSaved(batch);
  return {};
}

// ---- small filters

// Keeps packs of the last snapshot, with none of their records in this one yet. A pack is dropped when half of its
// bytes are dead, and all small ones are dropped when there are many: what is alive in them is written to a new one, as
// if it had changed.
void SnapshotWriter::KeepPacks(Draft& draft) const {
  const auto is_small = [](uint64_t live) { return 2 * live < kPackBytes; };
  std::vector<uint64_t> live;
  live.reserve(saved_.packs.size());
  size_t small = 0;
  for (const SavedPack& pack : saved_.packs) {
    live.push_back(LiveBytes(pack));
    if (2 * live.back() <= pack.seal.bytes) live.back() = 0;
    small += live.back() != 0 && is_small(live.back()) ? 1 : 0;
  }
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i] == 0 || (small > kMaxSmallPacks && is_small(live[i]))) continue;
    SavedPack& kept = draft.saved.packs.emplace_back(saved_.packs[i]);
    kept.live.assign(kept.live.size(), false);
  }
  draft.kept_packs = draft.saved.packs.size();
}

// Returns whether a pack that is kept has the filter as it is.
bool SnapshotWriter::StaysInPack(Draft& draft, const NamedFilter& named) const {
  if (named.saved.pack == 0 || IsFreezing(*named.filter)) return false;
  const auto end = draft.saved.packs.begin() + static_cast<ptrdiff_t>(draft.kept_packs);
  const auto pack = std::lower_bound(draft.saved.packs.begin(), end, named.saved.pack,
                                     [](const SavedPack& each, uint32_t number) { return each.number < number; });
  if (pack == end || pack->number != named.saved.pack) return false;
  const uint64_t changes = ChangesOf(named.filter->sequence(), named.filter->ChangeCount());
  if (!pack->records->Shows(named.saved.record, changes)) return false;
  pack->live[named.saved.record] = true;
  return true;
}

core::Status SnapshotWriter::WriteRecord(Draft& draft, NamedFilter& named, core::FilterImage& image) {
  const bool freezing = IsFreezing(*named.filter);
  const PackedFilter packed{.name = named.name,
                            .expires_unix_ms = named.expires_ms,
                            .filter_id = named.filter->id(),
                            .sequence = image.sequence(),
                            .freezing = freezing,
                            .header = {},
                            .body = {}};
  if (draft.pack.empty()) draft.pack_number = std::min(next_pack_number_++, SavedPlace::kMaxPacks);
  const core::Result<uint32_t> record = draft.pack.Add(packed, image);
  if (!record) return tl::unexpected(record.error());
  ++draft.report.filters_written;
  draft.records.Add(draft.pack.LastBytes(), ChangesOf(image.sequence(), image.change_count()));
  // Whether it is freezing may change without a trace: the next snapshot writes it again. And so it does if this one
  // fails, since no snapshot has a pack of this number then.
  const bool is_noted = !freezing && draft.pack_number < SavedPlace::kMaxPacks;
  named.saved = is_noted ? SavedPlace{draft.pack_number, *record} : SavedPlace();
  return draft.pack.full() ? WritePack(draft) : core::Status();
}

core::Status SnapshotWriter::WritePack(Draft& draft) {
  if (draft.pack.empty()) return {};
  const uint64_t file_id = file_ids_.Take();
  draft.written.push_back(file_id);
  const core::Result<FileSeal> seal = draft.pack.Write(directory_.disk(), directory_.FilterPath(file_id));
  if (!seal) return tl::unexpected(seal.error());
  auto records = std::make_shared<const PackRecords>(std::exchange(draft.records, {}));
  std::vector<bool> live(records->size(), true);
  draft.saved.packs.push_back({draft.pack_number, file_id, *seal, std::move(live), std::move(records)});
  draft.report.bytes_written += seal->bytes;
  draft.pack.Clear();
  return {};
}

// ---- filters with a file of their own

core::Status SnapshotWriter::WriteFilter(Draft& draft, NamedFilter& named) {
  if (IsOverdue()) return OverdueError();
  // Servers from before packs gave small filters files, too.
  const SavedFilter* const saved = FindSaved(saved_, named.filter);
  if (saved != nullptr && saved->seal.bytes + named.name.size() > max_packed_bytes_ &&
      KeepFileIfPossible(draft, named, *saved)) {
    return {};
  }
  const core::ImagePressure::Reading reading(*named.filter, image_pool_.budget);
  const std::unique_ptr<core::FilterImage> image = named.filter->Capture(image_pool_);
  const bool is_small = PackedBytes(named.name, *image) <= max_packed_bytes_;
  return is_small ? WriteRecord(draft, named, *image) : WriteFile(draft, named, *image);
}

// Called only for large filters: what they are remembered by takes memory for as long as they live.
bool SnapshotWriter::KeepFileIfPossible(Draft& draft, NamedFilter& named, const SavedFilter& saved) {
  // The sequence first: if the content is as it was saved, then all changes up to there changed nothing.
  const uint64_t sequence = named.filter->sequence();
  const SavedFilter now{.filter = named.filter,
                        .change_count = named.filter->ChangeCount(),
                        .file_id = saved.file_id,
                        .seal = saved.seal,
                        .sequence = sequence,
                        .log_position = draft.saved.log_position};
  if (saved.change_count == now.change_count) {
    KeepFile(draft, named, now);
    return true;
  }
  if (!MayStayInLog(draft, *named.filter, saved, now)) return false;
  SavedFilter in_log = saved;
  ++in_log.snapshots;
  ++draft.report.filters_in_log;
  KeepFile(draft, named, in_log);
  return true;
}

bool SnapshotWriter::MayStayInLog(const Draft& draft, const core::Filter& filter, const SavedFilter& saved,
                                  const SavedFilter& now) const {
  if (recorder_ == nullptr || saved.snapshots >= kMaxSnapshotsInLog) return false;
  if (!recorder_->IsComplete() || IsFreezing(filter)) return false;
  const uint64_t logged = (now.sequence - saved.sequence) * kLoggedBytesPerChange +
                          (now.change_count - saved.change_count) * sizeof(core::KeyHash);
  return static_cast<double>(logged) < static_cast<double>(saved.seal.bytes) / 100 * draft.growth_percent;
}

core::Status SnapshotWriter::WriteFile(Draft& draft, NamedFilter& named, core::FilterImage& image) {
  SavedFilter saved{.filter = named.filter,
                    .change_count = image.change_count(),
                    .file_id = file_ids_.Take(),
                    .seal = {},
                    .sequence = image.sequence(),
                    .log_position = draft.saved.log_position};
  draft.written.push_back(saved.file_id);
  TimedImage timed(image, [this] { return IsOverdue(); });
  core::Result<FileSeal> seal = WriteFilterFile(directory_.disk(), directory_.FilterPath(saved.file_id), named.name,
                                                timed, chunk_bytes_, buffer_);
  if (!seal) return tl::unexpected(std::move(seal.error()));
  saved.seal = *seal;
  ++draft.report.filters_written;
  draft.report.bytes_written += seal->bytes;
  KeepFile(draft, named, saved);
  return {};
}

void SnapshotWriter::KeepFile(Draft& draft, NamedFilter& named, const SavedFilter& saved) const {
  draft.manifest.filters.push_back({std::move(named.name), saved.file_id, saved.seal, named.expires_ms,
                                    named.filter->id(), saved.sequence, IsFreezing(*named.filter), saved.log_position});
  draft.saved.filters.emplace(named.filter.get(), saved);
}

bool SnapshotWriter::IsOverdue() const {
  return std::chrono::steady_clock::now() >= deadline_.load(std::memory_order_relaxed);
}

// ---- the manifest

core::Status SnapshotWriter::CommitDraft(Draft& draft) {
  Manifest& manifest = draft.manifest;
  manifest.snapshot_number = draft.saved.snapshot_number = saved_.snapshot_number + 1;
  manifest.log_position = draft.saved.log_position;
  manifest.has_log = draft.saved.has_log;
  manifest.next_file_id = file_ids_.next();
  manifest.next_filter_id = recorder_ == nullptr ? saved_.next_filter_id : recorder_->next_filter_id();
  draft.saved.next_filter_id = manifest.next_filter_id;
  draft.saved.log_begin = LogBeginOf(manifest);
  manifest.saved_unix_ms = clock_.WallMs();
  manifest.packs = PacksOf(draft.saved);
  if (core::Status status = directory_.PrepareManifest(manifest, buffer_); !status) {
    (void)directory_.disk().Remove(directory_.temporary_manifest_path());  // to make room; the next save replaces it
    AbandonDraft(draft);
    return status;
  }
  if (core::Status status = SyncLog(draft); !status) {
    AbandonDraft(draft);
    return status;
  }
  draft.may_be_named = true;
  if (core::Status status = directory_.SwapManifest(); !status) {
    garbage_.insert(garbage_.end(), draft.written.begin(), draft.written.end());
    return status;
  }
  Adopt(draft);
  if (recorder_ != nullptr) recorder_->log().RemoveBefore(saved_.log_begin);
  draft.report.warnings = RemoveGarbage();
  return {};
}

// Filters are saved as they were when their turn came. Any change that one shows was logged by now, and so was every
// change that was made before it: of other filters, and of names and expiries, which the manifest has as they were at
// log_position. All of that must be in the log before the manifest is in place, or a crash would keep the later change
// and lose the earlier one. If nothing was logged since log_position, and no file needs the log before, the snapshot
// is complete without it, and a log that the disk refuses does not hold it up.
core::Status SnapshotWriter::SyncLog(const Draft& draft) {
  if (recorder_ == nullptr) return {};
  const uint64_t end = recorder_->log().appended().end();
  const uint64_t position = draft.saved.log_position;
  if (end == position && draft.saved.log_begin == position) return {};
  return recorder_->log().SyncUpTo(end);
}

// Removes what was written: the old manifest stands, so it is of no use, and a full disk needs the space. Files that
// cannot be removed for lack of memory are removed by the next start.
void SnapshotWriter::AbandonDraft(const Draft& draft) noexcept {
  for (const uint64_t id : draft.written) {
    try {
      if (!directory_.disk().Remove(directory_.FilterPath(id))) garbage_.push_back(id);
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

// The draft is the snapshot now. Files become garbage only when everything has been adopted: if memory is refused here,
// the state stays that of the snapshot before, whose files the next save may continue with.
void SnapshotWriter::Adopt(Draft& draft) {
  draft.saved.file_ids = FileIdsOf(draft.manifest);
  std::vector<uint64_t> garbage = garbage_;
  std::set_difference(saved_.file_ids.begin(), saved_.file_ids.end(), draft.saved.file_ids.begin(),
                      draft.saved.file_ids.end(), std::back_inserter(garbage));
  garbage_.swap(garbage);
  std::swap(saved_, draft.saved);
}

std::vector<std::string> SnapshotWriter::RemoveGarbage() {
  std::vector<std::string> warnings;
  std::vector<uint64_t> left;
  for (const uint64_t id : std::exchange(garbage_, {})) {
    const core::Status status = directory_.disk().Remove(directory_.FilterPath(id));
    if (status) continue;
    warnings.push_back(status.error().message);
    left.push_back(id);
  }
  garbage_ = std::move(left);
  return warnings;
}

uint64_t SnapshotWriter::ChangesAtMost() const {
  return ChangesSoFar(registry_) - changes_before_.load(std::memory_order_relaxed);
}

uint64_t SnapshotWriter::LogBytes() const {
  return recorder_ == nullptr ? 0 : recorder_->log().appended().end() - saved_.log_begin;
}

}  // namespace bitsieve::server
