// filter_loader.h: reads the filters of a manifest from their files, several at a time, each verified to the last byte.
// Thread-safe: a free function.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "server/keyspace/registry.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/manifest.h"

namespace bitsieve::server {

// One result for each entry, in the same order: all that can be loaded is, so that all damage is known at once. Only
// when memory runs out, what was not begun yet is not begun. Errors name file and filter. `present` are the ids of the
// files that are there, ascending. Each thread needs the memory of one chunk beside the filters.
std::vector<core::Result<FilterPtr>> LoadFilters(const DataDirectory& directory,
                                                 const std::vector<ManifestEntry>& entries,
                                                 const std::vector<uint64_t>& present, core::MemoryBudget& budget,
                                                 const core::Clock& clock, unsigned threads);

}  // namespace bitsieve::server
