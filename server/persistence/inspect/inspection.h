// inspection.h: what a data directory contains and whether it is damaged. It changes nothing and takes no lock, so a
// server may be running. Thread-safe: free functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/filter/image_header.h"
#include "server/persistence/disk/disk.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/log/log_reader.h"

namespace bitsieve::server {

struct InspectedFilter {
  ManifestEntry entry;  // of one in a pack: what its record holds, and the length and checksum of the record
  std::string path;
  std::optional<uint32_t> record = {};        // in the pack
  std::optional<core::ImageSummary> summary;  // nothing if its file cannot be read
  uint64_t body_bytes = 0;                    // of the filter; the entry's seal has the length of file or record
};

struct InspectedSegment {
  std::string path;
  uint64_t start = 0;
  uint64_t bytes = 0;                                     // of the file
  std::array<uint64_t, log::kRecordKinds + 1> records{};  // those that count, by RecordKind; only if the log was read
};

struct InspectedFile {
  std::string path;
  uint64_t bytes = 0;
};

struct Inspection {
  std::string path;
  bool verified = false;      // every byte of all filter files and of the log was read; else their heads, and packs
  std::string lock_holder;    // "process 17", a running server; empty: none
  bool has_manifest = false;  // a readable one
  Manifest manifest;          // its entries are in `filters`
  std::vector<InspectedFilter> filters;  // by name
  std::vector<InspectedSegment> log;
  std::optional<uint64_t> newest_segment;  // where it begins, by log/CURRENT; nothing if there is no log
  LogScan scan;                            // of the log, if verified
  uint64_t images = 0;                     // filter files that the log names, if verified
  // Files in filters/ that the manifest does not name (nor, if verified, the log), and files that were not finished.
  std::vector<InspectedFile> leftovers;
  std::vector<InspectedFile> quarantined;

  // The problems found, one line each that names the file.
  std::vector<std::string> damage;      // files that are damaged or missing
  std::vector<std::string> unreadable;  // files of a newer version, or that the disk does not give
};

enum class InspectDepth {
  kHeads,      // of filter files and of the log; packs as a whole
  kChecksums,  // every byte of all filter files and of the log, with a chunk of it in memory
  kContents,   // and what the bytes mean, as a start reads them: needs the memory of the largest filter
};

// kIo if there is no data directory at that path.
core::Result<Inspection> Inspect(const Disk& disk, const std::string& path, InspectDepth depth);

}  // namespace bitsieve::server
