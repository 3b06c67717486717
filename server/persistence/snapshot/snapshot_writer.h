// snapshot_writer.h: makes a snapshot of the registry, writing only the filters that changed since the last one.
//
// Order is everything: new filter files, durable with their names; then the next manifest, durable, under a temporary
// name; then the rename that makes it the snapshot; and only when that is durable, the files that are no longer needed
// are removed. A crash between any two steps, or within one, leaves the old snapshot or the new one whole.
//
// Clients are served meanwhile. The names are those of one moment, at which a new segment of the log begins; each
// filter is saved as it is when its turn comes, and the sequence in its manifest line is that of the last change
// included. The log from that segment on has the rest. Once the manifest is in place, the segments before are obsolete.
//
// ChangesAtMost may be called from any thread at any time, all others from one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "server/keyspace/registry.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/file_ids.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/log/keyspace_recorder.h"

namespace bitsieve::server {

// A filter in memory whose content, as of `change_count`, is in a file.
struct SavedFilter {
  core::WeakFilterPtr filter;  // not its address alone: a new filter may be made where a freed one was
  uint64_t change_count = 0;
  uint64_t file_id = 0;
  FileSeal seal;
};

// What the directory holds, and of which objects: the state between two snapshots.
struct SavedState {
  uint64_t snapshot_number = 0;
  uint64_t log_position = 0;
  bool has_log = false;  // the manifest records that a log continues from there
  uint64_t next_filter_id = 1;
  uint64_t registry_change_count = 0;
  std::vector<uint64_t> file_ids;  // of the files that the manifest lists, ascending
  std::unordered_map<const core::Filter*, SavedFilter> filters;
};

struct SaveReport {
  uint64_t filters = 0;          // in the snapshot
  uint64_t filters_written = 0;  // of them, new or changed
  uint64_t bytes_written = 0;
  std::vector<std::string> warnings;  // old files that could not be removed: tried again by the next save
};

// What a snapshot works with; all outlive it.
struct SnapshotParts {
  DataDirectory& directory;
  const Registry& registry;
  FileIds& file_ids;
  core::ImagePool image_pool;
  const core::Clock& clock;
  KeyspaceRecorder* recorder = nullptr;  // of the registry's log; null: there is none
};

class SnapshotWriter {
 public:
  // `chunk_bytes` is for tests.
  SnapshotWriter(const SnapshotParts& parts, SavedState saved, uint32_t chunk_bytes = kDefaultChunkBytes);

  // After an error the last snapshot is whole and the next Save writes all that this one did not.
  core::Result<SaveReport> Save();
  // Changes of names and of contents since the last snapshot; 0 if and only if there is nothing to save. Looks at every
  // filter, a shard of names at a time. Not while Save runs.
  uint64_t CountChanges();
  // The same from running counters: at once, from any thread, and at any time. Too high by what changed while a
  // snapshot was made and is in it, until the next CountChanges.
  uint64_t ChangesAtMost() const;
  // Of the log since the last snapshot, or since the start; 0 without a log. Not while Save runs.
  uint64_t LogBytes() const;

 private:
  struct Draft;

  core::Result<SaveReport> Save(Draft& draft);
  core::Status WriteFilters(Draft& draft);
  core::Status WriteFilter(Draft& draft, NamedFilter& named);
  const SavedFilter* FindUnchanged(const FilterPtr& filter, uint64_t change_count) const;
  core::Status CommitDraft(Draft& draft);
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

  SavedState saved_;
  ChunkBuffer buffer_;
  std::vector<uint64_t> garbage_;  // files that no manifest needs once the next one stands

  // Of the running counters: when there was nothing to save. Relaxed: a figure to be shown.
  std::atomic<uint64_t> changes_before_{0};
};

}  // namespace bitsieve::server
