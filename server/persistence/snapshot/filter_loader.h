// filter_loader.h: reads the filters of a manifest from their files, several at a time, each verified to the last byte.
// Thread-safe: a free function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "server/keyspace/quotas.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/manifest.h"

namespace bitsieve::server {

// Of a record; its fields as in ManifestEntry.
struct LoadedRecord {
  std::string name;
  FilterPtr filter;
  int64_t expires_unix_ms = 0;
  uint64_t filter_id = 0;
  uint64_t sequence = 0;
  uint64_t change_count = 0;
  uint32_t record = 0;
  bool freezing = false;
};

struct LoadedPack {
  struct Damage {
    uint32_t record = 0;
    core::Error error;
  };

  std::vector<LoadedRecord> records;
  std::vector<Damage> damaged;    // of the others
  std::vector<uint32_t> expired;  // records that were passed over
  std::vector<uint32_t> bytes;    // of each record of the file
};

struct LoadedFilters {
  std::vector<core::Result<FilterPtr>> filters;  // one for each entry of the manifest
  std::vector<core::Result<LoadedPack>> packs;   // one for each of its packs
};

struct LoadOptions {
  // Records whose time has come by then are passed over; 0: none.
  int64_t expired_unix_ms = 0;
  unsigned threads = 1;
};

// All that can be loaded is, so that all damage is known at once. Only when memory runs out, what was not begun yet is
// not begun. Filters take from the budgets of their names. Errors name file and filter. `present` are the ids of the
// files that are there, ascending. Each thread needs the memory of one chunk or pack beside the filters.
LoadedFilters LoadFilters(const DataDirectory& directory, const Manifest& manifest,
                          const std::vector<uint64_t>& present, Quotas& quotas, const core::Clock& clock,
                          const LoadOptions& options);

}  // namespace bitsieve::server
