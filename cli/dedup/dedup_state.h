// dedup_state.h: the file that keeps the items seen before, so that a later run continues with them; and, between the
// two ends of an interrupted run, how far that run came. docs/formats/dedup.md has the bytes. Thread-compatible: free
// functions. Errors name the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/dedup/block.h"
#include "cli/dedup/seen_set.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "server/persistence/disk/checked_file.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::cli {

inline constexpr server::FileFormat kDedupStateFormat{"BSDEDUPS", 1, "dedup state"};

// Numbers of records by outcome, of one input.
struct DedupCounts {
  uint64_t records = 0;
  uint64_t kept = 0;
  uint64_t bad = 0;  // without an item, and so dropped
  uint64_t bytes = 0;
  uint64_t kept_bytes = 0;

  DedupCounts& operator+=(const DedupCounts& other);
  bool operator==(const DedupCounts&) const = default;
};

// How far a run came.
struct DedupProgress {
  std::string command;  // what must be the same for the run to continue
  InputPosition position;
  std::vector<uint64_t> output_bytes;  // of each output, up to the last that was begun
  std::vector<DedupCounts> counts;     // of each input
  bool is_complete = false;            // all that is left to do is to give the files their names
};

struct DedupState {
  SeenSet seen;
  std::optional<DedupProgress> progress;  // of the run that wrote it, if that could be continued
};

// Atomic, and on the disk when it returns.
core::Status WriteDedupState(server::Disk& disk, const std::string& path, const SeenSet& seen,
                             const DedupProgress* progress);
// The budget outlives the state. kCorrupt, kUnsupported, kOutOfMemory or kIo.
core::Result<DedupState> ReadDedupState(const server::Disk& disk, const std::string& path, core::MemoryBudget& budget);

// The head of a state, without what was seen.
struct DedupHead {
  SeenParams params;
  std::optional<DedupProgress> progress;
};
// Returns only the head of a state.
core::Result<DedupHead> ReadDedupHead(const server::Disk& disk, const std::string& path);

// To text and back; nothing if it is not such a text.
std::string EncodeProgress(const DedupProgress& progress);
std::optional<DedupProgress> DecodeProgress(const std::string& text);

}  // namespace bitsieve::cli
