// archive.h: a backup as one stream: a tar archive, by libarchive, whose members are the files of a data directory, by
// the names that they have there, the manifest last. Any tool that reads tar makes a data directory of it.
//
// Reading trusts nothing: members of other names or kinds, twice the same, or more of them or more bytes than allowed,
// end it. What comes out is verified by VerifyBackup (backup.h); an archive that was cut off has no manifest.
// Memory: a block of libarchive's, and the names.
// Thread-compatible: free functions. Errors say what is wrong with the archive, or name the file of the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "server/persistence/backup/backup.h"

namespace bitsieve::server {

enum class Compression { kNone, kGzip, kZstd };

// To the descriptor, which stays open.
core::Status WriteArchive(const PinnedDirectory& source, int descriptor, Compression compression,
                          const BackupProgress& progress);

struct ArchiveLimits {
  uint64_t bytes = 0;  // of all files together
  uint64_t files = uint64_t{1} << 24;
};

// Where an archive is read from, compressed or not.
struct ArchiveSource {
  std::string name;        // for error texts
  int descriptor = -1;     // read to the archive's end, and stays open
  std::string_view bytes;  // instead, if there is no descriptor
};

// Puts the files into the directory, which is there and empty, durable with their names.
core::Status ExtractArchive(const ArchiveSource& source, Disk& disk, const std::string& target,
                            const ArchiveLimits& limits, const BackupProgress& progress);

}  // namespace bitsieve::server
