// saved_state.h: what the directory holds, and of which filters in memory: what the next snapshot need not write again.
// The writer of snapshots keeps it from one to the next; recovery makes the first. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/change_meter.h"
#include "core/filter/filter_ptr.h"
#include "server/keyspace/registry.h"
#include "server/persistence/disk/checked_file.h"

namespace bitsieve::server {

// A filter in memory whose content, as of `change_count`, is in a file of its own.
struct SavedFilter {
  core::WeakFilterPtr filter;  // not its address alone: a new filter may be made where a freed one was
  uint64_t change_count = 0;
  uint64_t file_id = 0;
  FileSeal seal;
  uint64_t sequence = 0;      // of the last change that the file shows
  uint64_t log_position = 0;  // as in ManifestEntry
  uint32_t snapshots = 0;     // that kept the file although the filter had changed
};

// A pack, as far as the manifest counts on it.
struct SavedPack {
  uint64_t file_id = 0;
  FileSeal seal;
  std::vector<uint32_t> bytes;  // of each record; 0: it is no longer part of the snapshot
};

// A name whose filter is in a pack. There may be millions of them.
struct SavedRecord {
  uint64_t stamp = 0;    // of the name: another name, expiry or filter has another one
  uint64_t changes = 0;  // ChangesOf the filter
  uint32_t pack = 0;     // index in SavedState::packs
  uint32_t record = 0;
};

// Both counts only grow: an equal sum means that neither did. The sequence counts, since the log goes on from it.
inline uint64_t ChangesOf(uint64_t sequence, uint64_t change_count) { return sequence + change_count; }

// Of names and contents: a running counter, modulo 2^64.
inline uint64_t ChangesSoFar(const Registry& registry) { return core::ChangeMeter::Total() + registry.ChangeCount(); }

struct SavedState {
  uint64_t snapshot_number = 0;
  uint64_t log_position = 0;
  uint64_t log_begin = 0;  // LogBeginOf the manifest
  bool has_log = false;    // the manifest records that a log continues from there
  uint64_t next_filter_id = 1;
  uint64_t registry_change_count = 0;
  uint64_t changes_before = 0;     // ChangesSoFar, when nothing was left to save
  std::vector<uint64_t> file_ids;  // of the files that the manifest lists, ascending
  std::unordered_map<const core::Filter*, SavedFilter> filters;
  std::vector<SavedPack> packs;
  std::vector<SavedRecord> records;  // by ascending stamp
};

}  // namespace bitsieve::server
