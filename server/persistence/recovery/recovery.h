// recovery.h: from a data directory to a registry, at start: the snapshot's filters, several at a time, then the
// changes in the log since. All of it is read and verified first, then the options decide, and only then is anything in
// the directory changed: a start that is refused has changed nothing. What cannot be verified is never served: the
// start is refused and every problem named, or, if the options allow it, damaged filter files are moved to quarantine/
// and a damaged log ends where the damage begins. The end of the log that a crash tore is cut. Thread-safe: a free
// function; while it runs, nothing else may change the registry or use the directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "server/keyspace/registry.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/quarantine.h"
#include "server/persistence/log/log_reader.h"
#include "server/persistence/log/log_record.h"
#include "server/persistence/recovery/recovery_damage.h"
#include "server/persistence/snapshot/snapshot_writer.h"

namespace bitsieve::server {

struct RecoveryOptions {
  OnCorruptFilter on_corrupt_filter = OnCorruptFilter::kRefuse;
  OnCorruptLog on_corrupt_log = OnCorruptLog::kRefuse;
  bool keeps_log = false;  // a LogWriter continues from here: then the manifest records that, and there is a segment
  unsigned threads = 0;    // that read filters; 0: one per core, at most 8
  core::ChangeListener* listener =
      nullptr;  // of all filters from then on; null: none. Not notified during the recovery
};

struct RecoveryReport {
  uint64_t filters_loaded = 0;
  uint64_t filters_expired = 0;           // not loaded, since their time had come
  uint64_t bytes_read = 0;                // of filter files
  LogScan log = {};                       // what was read of it, and where it was cut
  std::vector<std::string> log_problems;  // of a damaged one that was truncated
  int64_t duration_ms = 0;
  int64_t snapshot_unix_ms = 0;    // when it was made; 0 if there was none
  uint64_t leftovers_removed = 0;  // files of a snapshot that a crash cut short
  std::vector<Quarantined> quarantined;
  std::vector<std::string> warnings;  // leftovers that could not be removed
};

// State that the server needs to continue, besides the registry.
struct Recovery {
  RecoveryReport report;
  // Damage was skipped, as the options allow: a snapshot must follow, so that no later start meets it again.
  bool lost_some = false;
  SavedState saved;  // for the SnapshotWriter: what was loaded need not be written again
  uint64_t next_file_id = 1;
  // The LogWriter gets these two.
  uint64_t log_end = 0;
  std::vector<log::FilterFile> filter_files;
  // Filters that were closed, to be frozen, when the server ended: they are collecting again.
  std::vector<NamedFilter> freezing;
};

// Loads all into the empty registry, which has no log yet, except for what has expired by the registry's clock. The
// filters have the ids and sequences by which the log knows them. An empty directory is an empty snapshot, and gets its
// first manifest. `clock` is used by filters that age, and outlives them. An error names all that is wrong, one line
// each, and what can be done; nothing in the directory was changed, unless the code is kIo.
//   kCorrupt      damaged, cut off, exchanged or missing files that the options do not give up
//   kUnsupported  files of a newer version: never quarantined, they are not damaged
//   kOutOfMemory  the filters need more than the registry's budget has
//   kIo           the disk failed
core::Result<Recovery> Recover(DataDirectory& directory, Registry& registry, core::FilterClock& clock,
                               const RecoveryOptions& options);

}  // namespace bitsieve::server
