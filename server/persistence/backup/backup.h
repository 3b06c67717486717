// backup.h: copies of a data directory, whole or not at all. A backup is a data directory itself: the files that a
// start needs, and nothing else (docs/formats/snapshot.md).
//
//   BackUp    DIR.partial/ is filled, verified and renamed to DIR
//   Restore   DIR/restore.partial/ is filled and verified; then its parts get their names, the manifest last
//
// Until the rename there is nothing at the place of the backup, and until the manifest has its name no server takes the
// directory for its own. The next try removes what an interrupted one left. Errors name file and reason.
// Thread-compatible: free functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/filter.h"
#include "server/persistence/backup/pinned_directory.h"
#include "server/persistence/disk/disk.h"
#include "server/persistence/inspect/inspection.h"

namespace bitsieve::server {

// Called with the current action and how far it is; a total of 0 means that the total is not known.
using BackupProgress = std::function<void(std::string_view act, uint64_t done_bytes, uint64_t total_bytes)>;

// Copies what is pinned to a directory at `target`, which is absent or empty. Returns what was read back from it.
core::Result<Inspection> BackUp(const PinnedDirectory& source, Disk& disk, const std::string& target,
                                const BackupProgress& progress);

// Fills an empty directory with the files of a backup.
using FillDirectory = std::function<core::Status(const std::string& path)>;

// Makes the data directory at `target`, which no server uses and which is absent or empty, from the files of `fill`,
// which must be a whole backup.
core::Result<Inspection> Restore(const FillDirectory& fill, Disk& disk, const std::string& target,
                                 const BackupProgress& progress);

// Copies the pinned files to `target`, durable with their names.
core::Status CopyFiles(const PinnedDirectory& source, Disk& disk, const std::string& target,
                       const BackupProgress& progress);

// Writes a snapshot of only this filter to `target`, durable with its names.
core::Status WriteSnapshotOf(const core::Filter& filter, const std::string& name, Disk& disk,
                             const std::string& target);

// Returns what is there, or kCorrupt with a line for each file that is not as it should be. Needs no more memory than a
// start needs for names.
core::Result<Inspection> VerifyBackup(const Disk& disk, const std::string& path);

}  // namespace bitsieve::server
