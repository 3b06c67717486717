#include "server/persistence/snapshot/snapshot_writer.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <utility>

#include "core/base/change_meter.h"
#include "core/base/out_of_memory.h"
#include "core/filter/image_pressure.h"
#include "server/persistence/disk/filter_file.h"

namespace bitsieve::server {
namespace {

// The saved record of this very object, or null.
const SavedFilter* FindSaved(const SavedState& saved, const FilterPtr& filter) {
  const auto found = saved.filters.find(filter.get());
  return found != saved.filters.end() && found->second.filter == core::WeakFilterPtr(filter) ? &found->second : nullptr;
}

uint64_t AllChanges(const Registry& registry) { return core::ChangeMeter::Total() + registry.ChangeCount(); }

}  // namespace

// A snapshot in the making.
struct SnapshotWriter::Draft {
  Manifest manifest;
  SavedState saved;
  std::vector<uint64_t> written;  // new files
  bool may_be_named = false;      // by the manifest that stands
  SaveReport report;
};

SnapshotWriter::SnapshotWriter(const SnapshotParts& parts, SavedState saved, uint32_t chunk_bytes)
    : directory_(parts.directory),
      registry_(parts.registry),
      file_ids_(parts.file_ids),
      image_pool_(parts.image_pool),
      clock_(parts.clock),
      recorder_(parts.recorder),
      chunk_bytes_(chunk_bytes),
      saved_(std::move(saved)) {
  CountChanges();
}

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
  const uint64_t changes_before = AllChanges(registry_);
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
  if (ChangesAtMost() != 0) CountChanges();  // some changes made in between may be in the snapshot
  return std::move(draft.report);
}

core::Status SnapshotWriter::WriteFilters(Draft& draft) {
  std::vector<NamedFilter> collected = registry_.Collect(
      [&] { draft.saved.log_position = recorder_ == nullptr ? saved_.log_position : recorder_->log().BeginSegment(); });
  std::sort(collected.begin(), collected.end(),
            [](const NamedFilter& a, const NamedFilter& b) { return a.name < b.name; });
  draft.report.filters = collected.size();
  draft.manifest.filters.reserve(collected.size());
  for (NamedFilter& named : collected) {
    if (core::Status status = WriteFilter(draft, named); !status) return status;
    named.filter.reset();  // a filter deleted in between frees its memory now
  }
  return draft.written.empty() ? core::Status() : directory_.disk().SyncDirectory(directory_.filters_path());
}

core::Status SnapshotWriter::WriteFilter(Draft& draft, NamedFilter& named) {
  const bool freezing = named.filter->Info().freeze.state == core::FreezeState::kBuilding;
  // The sequence first: if the content is as it was saved, then all changes up to there changed nothing.
  uint64_t sequence = named.filter->sequence();
  SavedFilter saved{named.filter, named.filter->ChangeCount(), 0, {}};
  if (const SavedFilter* kept = FindUnchanged(named.filter, saved.change_count)) {
    saved.file_id = kept->file_id;
    saved.seal = kept->seal;
  } else {
    const core::ImagePressure::Reading reading(*named.filter, image_pool_.budget);
    const std::unique_ptr<core::FilterImage> image = named.filter->Capture(image_pool_);
    sequence = image->sequence();
    saved.change_count = image->change_count();
    saved.file_id = file_ids_.Take();
    draft.written.push_back(saved.file_id);
    core::Result<FileSeal> seal = WriteFilterFile(directory_.disk(), directory_.FilterPath(saved.file_id), named.name,
                                                  *image, chunk_bytes_, buffer_);
    if (!seal) return tl::unexpected(std::move(seal.error()));
    saved.seal = *seal;
    ++draft.report.filters_written;
    draft.report.bytes_written += seal->bytes;
  }
  draft.manifest.filters.push_back(
      {std::move(named.name), saved.file_id, saved.seal, named.expires_ms, named.filter->id(), sequence, freezing});
  draft.saved.filters.emplace(named.filter.get(), std::move(saved));
  return {};
}

const SavedFilter* SnapshotWriter::FindUnchanged(const FilterPtr& filter, uint64_t change_count) const {
  const SavedFilter* saved = FindSaved(saved_, filter);
  return saved != nullptr && saved->change_count == change_count ? saved : nullptr;
}

core::Status SnapshotWriter::CommitDraft(Draft& draft) {
  Manifest& manifest = draft.manifest;
  manifest.snapshot_number = draft.saved.snapshot_number = saved_.snapshot_number + 1;
  manifest.log_position = draft.saved.log_position;
  manifest.has_log = draft.saved.has_log;
  manifest.next_file_id = file_ids_.next();
  manifest.next_filter_id = recorder_ == nullptr ? saved_.next_filter_id : recorder_->next_filter_id();
  draft.saved.next_filter_id = manifest.next_filter_id;
  manifest.saved_unix_ms = clock_.WallMs();
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

uint64_t SnapshotWriter::CountChanges() {
  const uint64_t so_far = AllChanges(registry_);
  uint64_t changes = registry_.ChangeCount() - saved_.registry_change_count;
  registry_.Scan(0, UINT64_MAX, [&](std::string_view, const FilterPtr& filter) {
    const SavedFilter* saved = FindSaved(saved_, filter);
    changes += filter->ChangeCount() - (saved == nullptr ? 0 : saved->change_count);
  });
  changes_before_.store(so_far - changes, std::memory_order_relaxed);
  return changes;
}

uint64_t SnapshotWriter::ChangesAtMost() const {
  return AllChanges(registry_) - changes_before_.load(std::memory_order_relaxed);
}

uint64_t SnapshotWriter::LogBytes() const {
  return recorder_ == nullptr ? 0 : recorder_->log().end() - saved_.log_position;
}

}  // namespace bitsieve::server
