// snapshot_writer.h: makes a snapshot of the registry, writing only the filters that changed since the last one.
//
// Order is everything: new filter files, durable with their names; then the next manifest, durable, under a temporary
// name; then the log, synced beyond every change that the files show; then the rename that makes it the snapshot; and
// only when that is durable, the files that are no longer needed are removed. A crash between any two steps, or within
// one, leaves the old snapshot or the new one whole.
//
// Small filters share files (pack.h), and are written to a new one whenever they changed. A large filter may keep its
// file although it changed, as long as the log since then is short: the log has the rest.
//
// Clients are served while it works. The names are those of one moment, at which a new segment of the log begins; each
// filter is saved as it is when its turn comes, and the sequence in its manifest line is that of the last change
// included. The log from that segment on has the rest. Once the manifest is in place, the segments before are obsolete,
// unless a filter that kept its file needs them.
//
// ChangesAtMost and EndBy may be called from any thread at any time, all others from one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "server/keyspace/registry.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/file_ids.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/disk/pack.h"
#include "server/persistence/log/keyspace_recorder.h"
#include "server/persistence/snapshot/saved_state.h"

namespace bitsieve::server {

struct SaveReport {
  uint64_t filters = 0;          // in the snapshot
  uint64_t filters_written = 0;  // of them, new or changed
  uint64_t filters_in_log = 0;   // of them, changed: their files stay, the log has the changes
  uint64_t bytes_written = 0;
  std::vector<std::string> warnings;  // old files that could not be removed: tried again by the next save
};

// The objects that a snapshot works with; all outlive it.
struct SnapshotParts {
  DataDirectory& directory;
  const Registry& registry;
  FileIds& file_ids;
  core::ImagePool image_pool;
  const core::Clock& clock;
  KeyspaceRecorder* recorder = nullptr;  // of the registry's log; null: there is none
  // For tests.
  uint32_t chunk_bytes = kDefaultChunkBytes;
  uint64_t max_packed_bytes = kMaxPackedBytes;  // 0: every filter has a file of its own
};

class SnapshotWriter {
 public:
  SnapshotWriter(const SnapshotParts& parts, SavedState saved);

  // A filter with a file of its own keeps it, if the log has its changes since and they take less than
  // `growth_percent` of the file's length; 0: none does. After an error the last snapshot is whole and the next Save
  // writes all that this one did not.
  core::Result<SaveReport> Save(uint32_t growth_percent = 0);
  // Sets a deadline: a Save that is not complete by then fails, even one that is already running.
  void EndBy(std::chrono::steady_clock::time_point deadline) { deadline_.store(deadline, std::memory_order_relaxed); }
  bool IsOverdue() const;
  // Returns the changes of names and of contents since the last snapshot, from running counters, without waiting. Too
  // high by what changed while that snapshot was made and is in it, until the next one; 0 only if there is nothing to
  // save.
  uint64_t ChangesAtMost() const;
  // Returns the length of the log that the last snapshot needs; 0 without a log. Must not be called while Save runs.
  uint64_t LogBytes() const;

 private:
  struct Draft;

  core::Result<SaveReport> Save(Draft& draft);
  core::Status WriteFilters(Draft& draft);
  core::Status WriteBatch(Draft& draft, std::vector<NamedFilter>& batch);
  void KeepPacks(Draft& draft) const;
  bool StaysInPack(Draft& draft, const NamedFilter& named) const;
  core::Status WriteFilter(Draft& draft, NamedFilter& named);
  core::Status WriteRecord(Draft& draft, NamedFilter& named, core::FilterImage& image);
  core::Status WritePack(Draft& draft);
  core::Status WriteFile(Draft& draft, NamedFilter& named, core::FilterImage& image);
  // Keeps the filter's file, and returns true, if the file shows it as it is or the log has the rest.
  bool KeepFileIfPossible(Draft& draft, NamedFilter& named, const SavedFilter& saved);
  // Returns whether the log does for now. `now` is what a file written now would be.
  bool MayStayInLog(const Draft& draft, const core::Filter& filter, const SavedFilter& saved,
                    const SavedFilter& now) const;
  void KeepFile(Draft& draft, NamedFilter& named, const SavedFilter& saved) const;
  core::Status CommitDraft(Draft& draft);
  core::Status SyncLog(const Draft& draft);
  void AbandonDraft(const Draft& draft) noexcept;
  void Adopt(Draft& draft);
  std::vector<std::string> RemoveGarbage();

  DataDirectory& directory_;
  const Registry& registry_;
  FileIds& file_ids_;
  const core::ImagePool image_pool_;
  const core::Clock& clock_;
  KeyspaceRecorder* const recorder_;
  const uint32_t chunk_bytes_;
  const uint64_t max_packed_bytes_;

  SavedState saved_;
  uint32_t next_pack_number_;  // one that a failed snapshot gave away is never used again
  ChunkBuffer buffer_;
  std::vector<uint64_t> garbage_;  // files that no manifest needs once the next one stands

  // Relaxed: if it is seen late, one more filter is written.
  std::atomic<std::chrono::steady_clock::time_point> deadline_{std::chrono::steady_clock::time_point::max()};
  // ChangesSoFar as of when there was nothing to save. Relaxed: a figure to be shown.
  std::atomic<uint64_t> changes_before_{0};
};

}  // namespace bitsieve::server
