#include "server/persistence/snapshot/snapshot_writer.h"

#include <algorithm>
#include <chrono>
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

bool ByStamp(const SavedRecord& a, const SavedRecord& b) { return a.stamp < b.stamp; }

bool IsFreezing(const core::Filter& filter) {
  return filter.capabilities().freeze && filter.Info().freeze.state == core::FreezeState::kBuilding;
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

core::Result<SaveReport> SnapshotWriter::Save() {
  Draft draft;
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
  std::vector<const SavedRecord*> unchanged(collected.size());
  for (size_t i = 0; i < collected.size(); ++i) unchanged[i] = FindUnchanged(collected[i]);
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
  // As they came to be, they are likely to lie in memory.
  std::sort(rest.begin(), rest.end(), [](const NamedFilter& a, const NamedFilter& b) { return a.stamp < b.stamp; });
  return rest;
}

const SavedRecord* SnapshotWriter::FindUnchanged(const NamedFilter& named) const {
  const SavedRecord sought{.stamp = named.stamp};
  const auto found = std::lower_bound(saved_.records.begin(), saved_.records.end(), sought, ByStamp);
  if (found == saved_.records.end() || found->stamp != named.stamp || IsFreezing(*named.filter)) return nullptr;
  const uint64_t changes = ChangesOf(named.filter->sequence(), named.filter->ChangeCount());
  return found->changes == changes ? &*found : nullptr;
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
  // The sequence first: if the content is as it was saved, then all changes up to there changed nothing.
  const uint64_t sequence = named.filter->sequence();
  const SavedFilter* const saved = FindSaved(saved_, named.filter);
  const bool unchanged = saved != nullptr && saved->change_count == named.filter->ChangeCount();
  // Servers before packs gave small filters files, too.
  if (unchanged && saved->seal.bytes + named.name.size() > max_packed_bytes_) {
    KeepFile(draft, named, *saved, sequence);
    return {};
  }
  const core::ImagePressure::Reading reading(*named.filter, image_pool_.budget);
  const std::unique_ptr<core::FilterImage> image = named.filter->Capture(image_pool_);
  const bool is_small = PackedBytes(named.name, *image) <= max_packed_bytes_;
  return is_small ? WriteRecord(draft, named, *image) : WriteFile(draft, named, *image);
}

core::Status SnapshotWriter::WriteFile(Draft& draft, NamedFilter& named, core::FilterImage& image) {
  SavedFilter saved{named.filter, image.change_count(), file_ids_.Take(), {}};
  draft.written.push_back(saved.file_id);
  core::Result<FileSeal> seal = WriteFilterFile(directory_.disk(), directory_.FilterPath(saved.file_id), named.name,
                                                image, chunk_bytes_, buffer_);
  if (!seal) return tl::unexpected(std::move(seal.error()));
  saved.seal = *seal;
  ++draft.report.filters_written;
  draft.report.bytes_written += seal->bytes;
  KeepFile(draft, named, saved, image.sequence());
  return {};
}

void SnapshotWriter::KeepFile(Draft& draft, NamedFilter& named, const SavedFilter& saved, uint64_t sequence) const {
  draft.manifest.filters.push_back({std::move(named.name), saved.file_id, saved.seal, named.expires_ms,
                                    named.filter->id(), sequence, IsFreezing(*named.filter), draft.saved.log_position});
  draft.saved.filters.emplace(named.filter.get(), saved);
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
  manifest.saved_unix_ms = clock_.WallMs();
  manifest.packs = PacksOf(draft.saved);
  if (core::Status status = directory_.PrepareManifest(manifest, buffer_); !status) {
    (void)directory_.disk().Remove(directory_.temporary_manifest_path());  // to make room; the next save replaces it
    AbandonDraft(draft);
    return status;
  }
  draft.may_be_named = true;
  if (core::Status status = directory_.SwapManifest(); !status) {
    garbage_.insert(garbage_.end(), draft.written.begin(), draft.written.end());
    return status;
  }
  Adopt(draft);
  if (recorder_ != nullptr) recorder_->log().RemoveBefore(manifest.log_position);
  draft.report.warnings = RemoveGarbage();
  return {};
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
  return recorder_ == nullptr ? 0 : recorder_->log().end() - saved_.log_position;
}

}  // namespace bitsieve::server
