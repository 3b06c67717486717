// recovery.h: from a data directory to a registry, at start: the snapshot's filters, several at a time, then what the
// log says happened since. What cannot be verified is never served: the start is refused with every damaged file named,
// or, if asked for, such files are moved to quarantine/ and the rest is loaded. The end of the log that a crash tore is
// cut; damage before its end refuses the start, unless it was asked to end there.
// Thread-safe: a free function; nobody else may change the registry, or use the directory, meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "server/keyspace/registry.h"
#include "server/persistence/data_directory.h"
#include "server/persistence/log_reader.h"
#include "server/persistence/log_writer.h"
#include "server/persistence/quarantine.h"
#include "server/persistence/replay_clock.h"
#include "server/persistence/snapshot_writer.h"

namespace bitsieve::server {

enum class OnCorrupt {
  kRefuse,
  kQuarantine,  // damaged filter files are set aside, and the rest is served
  kTruncate,    // a damaged log ends where the damage begins
};

struct RecoveryOptions {
  OnCorrupt on_corrupt = OnCorrupt::kRefuse;
  unsigned threads = 0;  // that read filters; 0: one per core, at most 8
};

struct RecoveryReport {
  uint64_t filters_loaded = 0;
  uint64_t filters_expired = 0;  // whose time had come: not loaded
  uint64_t bytes_read = 0;       // of filter files
  LogScan log = {};              // what was read of it, and where it was cut
  int64_t duration_ms = 0;
  int64_t snapshot_unix_ms = 0;    // when it was made; 0 if there was none
  uint64_t leftovers_removed = 0;  // files of a snapshot that a crash cut short
  std::vector<Quarantined> quarantined;
  std::vector<std::string> warnings;  // leftovers that could not be removed
};

// Beside the registry, all that is needed to go on.
struct Recovery {
  RecoveryReport report;
  // Damage was passed over, as on-corrupt says: a snapshot must follow, so that no later start meets it again.
  bool lost_some = false;
  SavedState saved;  // for the SnapshotWriter: what was loaded need not be written again
  uint64_t next_file_id = 1;
  // For the LogWriter.
  uint64_t log_end = 0;
  std::vector<LogImageFile> image_files;
  // Filters that were closed, to be frozen, when the server ended: they are collecting again.
  std::vector<NamedFilter> freezing;
};

// Loads all into the empty registry, which has no log yet, but for what has expired meanwhile by the registry's clock.
// The filters have the ids and sequences by which the log knows them. An empty directory is an empty snapshot, and gets
// its first manifest. `clock` is asked by filters that age, and outlives them. Errors tell all that is wrong, a line
// each, and what can be done. A refused start changes nothing in the directory.
//   kCorrupt      damaged, cut off, exchanged or missing files, if they shall not be quarantined; a damaged log
//   kUnsupported  files of a newer version: never quarantined, they are not damaged
//   kOutOfMemory  the filters need more than the registry's budget has
//   kIo           the disk failed
core::Result<Recovery> Recover(DataDirectory& directory, Registry& registry, ReplayClock& clock,
                               const RecoveryOptions& options);

}  // namespace bitsieve::server
