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
namespace {

// Of which less than half of kPackBytes is alive.
constexpr size_t kMaxSmallPacks = 16;

// The saved record of this very object, or null.
const SavedFilter* FindSaved(const SavedState& saved, const FilterPtr& filter) {
  const auto found = saved.filters.find(filter.get());
  return found != saved.filters.end() && found->second.filter == core::WeakFilterPtr(filter) ? &found->second : nullptr;
}

// A filter stays in the log for a day of snapshots each minute at most: each leaves a segment.
constexpr uint32_t kMaxSnapshotsInLog = 1440;
// Of a change, beside its hashes; with its share of a frame, rounded up.
constexpr uint64_t kLoggedBytesPerChange = 48;

tl::unexpected<core::Error> OverdueError() {
  return core::Fail(core::ErrorCode::kIo, "the snapshot was not complete in time");
}

// Ends when it is overdue.
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

bool ByStamp(const SavedRecord& a, const SavedRecord& b) { return a.stamp < b.stamp; }

bool IsFreezing(const core::Filter& filter) {
  return filter.capabilities().freeze && filter.Info().freeze.state == core::FreezeState::kBuilding;
}

bool IsUnchanged(const SavedRecord& record, const core::Filter& filter) {
  return !IsFreezing(filter) && record.changes == ChangesOf(filter.sequence(), filter.ChangeCount());
}

std::vector<ManifestPack> PacksOf(const SavedState& saved) {
  std::vector<ManifestPack> packs;
  for (const SavedPack& pack : saved.packs) {
    ManifestPack& listed = packs.emplace_back(ManifestPack{pack.file_id, pack.seal, {}});
    for (const uint32_t bytes : pack.bytes) listed.live.push_back(bytes != 0);
  }
  return packs;
}

}  // namespace

// A snapshot in the making.
struct SnapshotWriter::Draft {
  Manifest manifest;
  SavedState saved;
  std::vector<uint64_t> written;  // new files
  PackBuilder pack;               // the next file
  uint32_t growth_percent = 0;    // as given to Save
  bool may_be_named = false;      // by the manifest that stands
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
  // Before the names are collected: a change in between makes the next save write once too often, never too seldom.
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
  std::vector<NamedFilter> collected = registry_.Collect(
      [&] { draft.saved.log_position = recorder_ == nullptr ? saved_.log_position : recorder_->log().BeginSegment(); });
  draft.report.filters = collected.size();
  for (NamedFilter& named : KeepPacked(draft, std::move(collected))) {
    if (core::Status status = WriteFilter(draft, named); !status) return status;
    named.filter.reset();  // a filter deleted in between frees its memory now
  }
  if (core::Status status = WritePack(draft); !status) return status;
  std::sort(draft.manifest.filters.begin(), draft.manifest.filters.end(),
            [](const ManifestEntry& a, const ManifestEntry& b) { return a.name < b.name; });
  std::sort(draft.saved.records.begin(), draft.saved.records.end(), ByStamp);
  return draft.written.empty() ? core::Status() : directory_.disk().SyncDirectory(directory_.filters_path());
}

// ---- small filters

std::vector<NamedFilter> SnapshotWriter::KeepPacked(Draft& draft, std::vector<NamedFilter> collected) const {
  // As they came to be, they are likely to lie in memory; and so they are found one after the other.
  std::sort(collected.begin(), collected.end(),
            [](const NamedFilter& a, const NamedFilter& b) { return a.stamp < b.stamp; });
  std::vector<const SavedRecord*> unchanged(collected.size());
  auto next = saved_.records.begin();
  for (size_t i = 0; i < collected.size(); ++i) {
    while (next != saved_.records.end() && next->stamp < collected[i].stamp) ++next;
    const bool is_known = next != saved_.records.end() && next->stamp == collected[i].stamp;
    if (is_known && IsUnchanged(*next, *collected[i].filter)) unchanged[i] = &*next;
  }
  const std::vector<bool> keeps = PacksToKeep(unchanged);
  std::vector<uint32_t> new_index(keeps.size());
  for (size_t i = 0; i < keeps.size(); ++i) {
    if (!keeps[i]) continue;
    const SavedPack& pack = saved_.packs[i];
    new_index[i] = static_cast<uint32_t>(draft.saved.packs.size());
    draft.saved.packs.push_back({pack.file_id, pack.seal, std::vector<uint32_t>(pack.bytes.size())});
  }
  draft.saved.records.reserve(collected.size());
  std::vector<NamedFilter> rest;
  for (size_t i = 0; i < collected.size(); ++i) {
    if (unchanged[i] == nullptr || !keeps[unchanged[i]->pack]) {
      rest.push_back(std::move(collected[i]));
      continue;
    }
    SavedRecord record = *unchanged[i];
    const uint32_t bytes = saved_.packs[record.pack].bytes[record.record];
    record.pack = new_index[record.pack];
    draft.saved.packs[record.pack].bytes[record.record] = bytes;
    draft.saved.records.push_back(record);
  }
  return rest;
}

// A pack goes when half of its bytes are dead, and all small ones go when there are many: what is alive in them is
// written to a new one, as if it had changed.
std::vector<bool> SnapshotWriter::PacksToKeep(const std::vector<const SavedRecord*>& unchanged) const {
  std::vector<uint64_t> live(saved_.packs.size());
  for (const SavedRecord* record : unchanged) {
    if (record != nullptr) live[record->pack] += saved_.packs[record->pack].bytes[record->record];
  }
  std::vector<bool> keeps(live.size());
  for (size_t i = 0; i < live.size(); ++i) keeps[i] = 2 * live[i] > saved_.packs[i].seal.bytes;
  const auto is_small = [&](size_t i) { return keeps[i] && 2 * live[i] < kPackBytes; };
  size_t small = 0;
  for (size_t i = 0; i < live.size(); ++i) small += is_small(i);
  for (size_t i = 0; small > kMaxSmallPacks && i < live.size(); ++i) {
    if (is_small(i)) keeps[i] = false;
  }
  return keeps;
}

core::Status SnapshotWriter::WriteRecord(Draft& draft, const NamedFilter& named, core::FilterImage& image) {
  const bool freezing = IsFreezing(*named.filter);
  const PackedFilter packed{.name = named.name,
                            .expires_unix_ms = named.expires_ms,
                            .filter_id = named.filter->id(),
                            .sequence = image.sequence(),
                            .freezing = freezing,
                            .header = {},
                            .body = {}};
  const core::Result<uint32_t> record = draft.pack.Add(packed, image);
  if (!record) return tl::unexpected(record.error());
  ++draft.report.filters_written;
  // Whether it is freezing may change without a trace: the next snapshot writes it again.
  if (!freezing) {
    draft.saved.records.push_back({named.stamp, ChangesOf(image.sequence(), image.change_count()),
                                   static_cast<uint32_t>(draft.saved.packs.size()), *record});
  }
  return draft.pack.full() ? WritePack(draft) : core::Status();
}

core::Status SnapshotWriter::WritePack(Draft& draft) {
  if (draft.pack.empty()) return {};
  const uint64_t file_id = file_ids_.Take();
  draft.written.push_back(file_id);
  const core::Result<FileSeal> seal = draft.pack.Write(directory_.disk(), directory_.FilterPath(file_id));
  if (!seal) return tl::unexpected(seal.error());
  draft.saved.packs.push_back({file_id, *seal, draft.pack.RecordBytes()});
  draft.report.bytes_written += seal->bytes;
  draft.pack.Clear();
  return {};
}

// ---- filters with a file of their own

core::Status SnapshotWriter::WriteFilter(Draft& draft, NamedFilter& named) {
  if (IsOverdue()) return OverdueError();
  // The sequence first: if the content is as it was saved, then all changes up to there changed nothing.
  const uint64_t sequence = named.filter->sequence();
  SavedFilter now{.filter = named.filter,
                  .change_count = named.filter->ChangeCount(),
                  .file_id = 0,
                  .seal = {},
                  .sequence = sequence,
                  .log_position = draft.saved.log_position};
  // Servers before packs gave small filters files, too.
  const SavedFilter* const saved = FindSaved(saved_, named.filter);
  if (saved != nullptr && saved->seal.bytes + named.name.size() > max_packed_bytes_) {
    now.file_id = saved->file_id;
    now.seal = saved->seal;
    if (saved->change_count == now.change_count) {
      KeepFile(draft, named, now);
      return {};
    }
    if (MayStayInLog(draft, *named.filter, *saved, now)) {
      now = *saved;
      ++now.snapshots;
      ++draft.report.filters_in_log;
      KeepFile(draft, named, now);
      return {};
    }
  }
  const core::ImagePressure::Reading reading(*named.filter, image_pool_.budget);
  const std::unique_ptr<core::FilterImage> image = named.filter->Capture(image_pool_);
  const bool is_small = PackedBytes(named.name, *image) <= max_packed_bytes_;
  return is_small ? WriteRecord(draft, named, *image) : WriteFile(draft, named, *image);
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

// What the manifest counts on must be there. A log that nothing is needed of may well end before the snapshot.
core::Status SnapshotWriter::SyncLog(const Draft& draft) {
  if (draft.saved.log_begin == draft.saved.log_position) return {};
  return recorder_->log().SyncBefore(draft.saved.log_position);
}

// The old manifest stands: what was written is of no use, and a full disk needs the space. Files that cannot be removed
// for lack of memory are removed by the next start.
void SnapshotWriter::AbandonDraft(const Draft& draft) noexcept {
  for (const uint64_t id : draft.written) {
    try {
      if (!directory_.disk().Remove(directory_.FilterPath(id))) garbage_.push_back(id);
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

// The draft is the snapshot now. Nothing is taken for garbage before all is: what memory is refused for here leaves the
// state of the snapshot before, whose files the next save may continue with.
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
  return recorder_ == nullptr ? 0 : recorder_->log().end() - saved_.log_begin;
}

}  // namespace bitsieve::server
