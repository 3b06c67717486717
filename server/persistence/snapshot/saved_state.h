// saved_state.h: what the directory holds, and of which filters in memory, so that the next snapshot need not write it
// again. The writer of snapshots keeps it from one to the next; recovery makes the first. Thread-compatible.
#pragma once

#include <algorithm>
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
  core::WeakFilterPtr filter;  // not just its address: a new filter may be made where a freed one was
  uint64_t change_count = 0;
  uint64_t file_id = 0;
  FileSeal seal;
  uint64_t sequence = 0;      // of the last change that the file shows
  uint64_t log_position = 0;  // as in ManifestEntry
  uint32_t snapshots = 0;     // that kept the file although the filter had changed
};

// Returns the sum of two counts that only grow: an equal sum means that neither changed. The sequence is included
// because the log continues from it.
inline uint64_t ChangesOf(uint64_t sequence, uint64_t change_count) { return sequence + change_count; }

// The length and the changes of each record of a pack, by the record's number. Kept small: there may be millions of
// records.
class PackRecords {
 public:
  void Reserve(size_t records) {
    changes_.reserve(records);
    lengths_.reserve(records);
  }
  // Adds a pack's next record, with its length in the file and ChangesOf the filter that it shows.
  void Add(uint64_t bytes, uint64_t changes) {
    lengths_.push_back(static_cast<uint16_t>(std::min<uint64_t>((bytes + kUnit - 1) / kUnit, UINT16_MAX)));
    changes_.push_back(static_cast<uint32_t>(std::min<uint64_t>(changes, kUnknown)));
  }
  // Adds a record of which only the length is known.
  void AddUnknown(uint64_t bytes) { Add(bytes, kUnknown); }
  size_t size() const { return changes_.size(); }
  // Returns the record's length, rounded up a little.
  uint64_t bytes(size_t record) const { return uint64_t{lengths_[record]} * kUnit; }
  // Returns whether the record shows a filter as it is now.
  bool Shows(size_t record, uint64_t changes) const {
    return record < changes_.size() && changes < kUnknown && changes_[record] == changes;
  }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;  // also if there are as many changes, or more
  static constexpr uint64_t kUnit = 2;              // of lengths: a record has up to 64 KiB

  std::vector<uint32_t> changes_;
  std::vector<uint16_t> lengths_;
};

// A pack that the manifest lists. Names know their records by the pack's number (SavedPlace).
struct SavedPack {
  uint32_t number = 0;
  uint64_t file_id = 0;
  FileSeal seal;
  std::vector<bool> live;  // of each record: whether it is part of the snapshot
  std::shared_ptr<const PackRecords> records;
};

// Returns a running count of the changes of names and contents, modulo 2^64.
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
  std::vector<SavedPack> packs;  // by ascending number
};

}  // namespace bitsieve::server
