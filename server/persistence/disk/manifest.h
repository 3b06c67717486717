// manifest.h: the one file that lists what a snapshot consists of. Replacing it replaces the snapshot. Thread-safe:
// plain values and free functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "server/persistence/disk/checked_file.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

inline constexpr FileFormat kManifestFormat{"BSMANIFS", 1, "manifest"};
inline constexpr uint64_t kMaxManifestBytes = uint64_t{4} << 30;
inline constexpr uint64_t kMaxFileId = uint64_t{1} << 62;  // none that is given comes near it

// A filter with a file of its own.
struct ManifestEntry {
  std::string name;  // of the filter; any bytes
  uint64_t file_id = 0;
  FileSeal seal;                // of its file
  int64_t expires_unix_ms = 0;  // when the name ends; 0: never
  uint64_t filter_id = 0;       // its id in the log; 0: it was never in a log
  uint64_t sequence = 0;        // of the last change that the file shows
  bool freezing = false;        // it was closed, and its frozen filter was not there yet
  // The log has all changes since its file was written from here on; at most the manifest's log_position.
  uint64_t log_position = 0;

  bool operator==(const ManifestEntry&) const = default;
};

// Many small filters in one file; each record holds what an entry holds of a large one.
struct ManifestPack {
  uint64_t file_id = 0;
  FileSeal seal;           // of its file: the checksum is that of its table
  std::vector<bool> live;  // of each of its records, whether it is part of the snapshot

  bool operator==(const ManifestPack&) const = default;
};

struct Manifest {
  uint64_t snapshot_number = 0;  // one more with each snapshot
  int64_t saved_unix_ms = 0;
  uint64_t log_position = 0;           // the log continues the snapshot's names from here
  uint64_t next_file_id = 1;           // above every id ever given, so that none is used twice
  uint64_t next_filter_id = 1;         // above every filter id ever given
  bool has_log = false;                // a log continues from here: log/CURRENT and what it names must exist
  std::vector<ManifestEntry> filters;  // by ascending name
  std::vector<ManifestPack> packs;

  bool operator==(const Manifest&) const = default;
};

// Returns the ids of all files that the manifest lists, ascending.
std::vector<uint64_t> FileIdsOf(const Manifest& manifest);
// Returns the position from which the log is needed: the lowest one of the manifest and its entries.
uint64_t LogBeginOf(const Manifest& manifest);

// Writes the file and makes its bytes durable. kInvalidArgument if it would exceed kMaxManifestBytes.
core::Status WriteManifest(Disk& disk, const std::string& path, const Manifest& manifest, ChunkBuffer& buffer);
// kCorrupt, kUnsupported or kIo; the message names the file.
core::Result<Manifest> ReadManifest(const Disk& disk, const std::string& path, ChunkBuffer& buffer);

}  // namespace bitsieve::server
