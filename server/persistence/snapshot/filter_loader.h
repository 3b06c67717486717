// filter_loader.h: reads the filters of a manifest from their files, several at a time, each verified to the last byte.
// Thread-safe: a free function.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "server/keyspace/loading_names.h"
#include "server/keyspace/quotas.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/manifest.h"
#include "server/persistence/snapshot/saved_state.h"

namespace bitsieve::server {

// Its records are in the table of names.
struct LoadedPack {
  struct Record {
    uint64_t filter_id = 0;
    Entry* entry = nullptr;  // null: it was not loaded
  };
  struct Damage {
    uint32_t record = 0;
    core::Error error;
  };

  uint32_t number = 0;  // as SavedPack has it
  uint64_t loaded = 0;
  std::vector<Record> records;               // of each record of the file
  std::vector<Damage> damaged;               // of the others
  std::vector<uint32_t> expired;             // records that were passed over
  std::vector<uint32_t> freezing;            // records of filters that were closed
  std::shared_ptr<const PackRecords> saved;  // what the next snapshot is to know of them
};

struct LoadedFilters {
  std::vector<core::Result<commands::FilterPtr>> filters;  // one for each entry of the manifest
  std::vector<core::Result<LoadedPack>> packs;             // one for each of its packs
};

struct LoadOptions {
  LoadingNames& names;                       // that the records of packs go to
  core::ChangeListener* listener = nullptr;  // of filters in packs; null: none
  std::atomic<uint64_t>& next_filter_id;     // of the first filter that was never in a log
  // Records whose time has come by then are passed over; 0: none.
  int64_t expired_unix_ms = 0;
  unsigned threads = 1;
};

// All that can be loaded is, so that all damage is known at once. Only when memory runs out, what was not begun yet is
// not begun. Filters take from the budgets of their names. Errors name file and filter. `present` are the ids of the
// files that are there, ascending. Each thread needs the memory of one chunk or pack besides the filters.
LoadedFilters LoadFilters(const DataDirectory& directory, const Manifest& manifest,
                          const std::vector<uint64_t>& present, Quotas& quotas, const core::Clock& clock,
                          const LoadOptions& options);

}  // namespace bitsieve::server
