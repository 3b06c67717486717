// recovery.h: from a data directory to a registry, at start. What cannot be verified is never served: the start is
// refused with every damaged file named, or, if asked for, such files are moved to quarantine/ and the rest is loaded.
// Thread-safe: a free function; nobody else may change the registry, or use the directory, meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "server/keyspace/registry.h"
#include "server/persistence/data_directory.h"
#include "server/persistence/snapshot_writer.h"

namespace bitsieve::server {

enum class OnCorrupt { kRefuse, kQuarantine };

struct RecoveryOptions {
  OnCorrupt on_corrupt = OnCorrupt::kRefuse;
  unsigned threads = 0;  // that read filters; 0: one per core, at most 8
};

struct Quarantined {
  std::string path;      // where it was
  std::string moved_to;  // empty if it was missing
  std::string reason;    // names the file, and the filter if it is known
};

struct RecoveryReport {
  uint64_t filters_loaded = 0;
  uint64_t filters_expired = 0;  // whose time had come: not loaded, and their files removed
  uint64_t bytes_read = 0;       // of their files
  int64_t duration_ms = 0;
  int64_t snapshot_unix_ms = 0;    // when it was made; 0 if there was none
  uint64_t leftovers_removed = 0;  // files of a snapshot that a crash cut short
  std::vector<Quarantined> quarantined;
  std::vector<std::string> warnings;  // leftovers that could not be removed
};

struct Recovery {
  RecoveryReport report;
  SavedState saved;  // for the SnapshotWriter: what was loaded need not be written again
};

// Loads the snapshot into the empty registry, but for what has expired meanwhile by the registry's clock. An empty
// directory is an empty snapshot, and gets its first manifest. Errors tell all that is wrong, a line each, and what can
// be done. A refused start changes nothing in the directory.
//   kCorrupt      damaged, cut off, exchanged or missing files, if they shall not be quarantined
//   kUnsupported  files of a newer version: never quarantined, they are not damaged
//   kOutOfMemory  the filters need more than the registry's budget has
//   kIo           the disk failed
core::Result<Recovery> Recover(DataDirectory& directory, Registry& registry, const RecoveryOptions& options);

}  // namespace bitsieve::server
