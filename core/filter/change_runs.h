// change_runs.h: changes of a filter as bytes, for copies of it elsewhere. docs/formats/changes.md has the byte tables.
// A run is a number of hashes with one kind and the same times. Thread-safe: free functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/change.h"

namespace bitsieve::core {

class Filter;
class FilterClock;

inline constexpr size_t kMaxRunHashes = UINT16_MAX;

// Returns the bytes of a run of this many hashes.
size_t ChangeRunBytes(uint64_t time_ms, uint64_t until_ms, size_t hashes);
// Appends the change as a run, or as several if there are more hashes than kMaxRunHashes. It has hashes.
void AppendChangeRun(const Change& change, std::string& out);

struct ChangeRun {
  ChangeKind kind = ChangeKind::kAdded;
  uint64_t time_ms = 0;     // as in Change
  uint64_t until_ms = 0;    // likewise
  std::string_view hashes;  // 16 bytes each
};
// Takes the first run off `bytes`, which are not empty. kCorrupt.
Result<ChangeRun> TakeChangeRun(std::string_view& bytes);

// Makes the changes to a filter that has all changes before them, and whose clock this is. Does nothing to items that
// the filter has already. kCorrupt if they do not fit this filter, kOutOfMemory: then some are made, and some are not.
Status ApplyChangeRun(Filter& filter, FilterClock& clock, const ChangeRun& run);

// Makes a change that another filter of the same content made before. A rewrite does nothing, since it has no hashes.
// The filter's clock shows the time of the change. kCorrupt, with a predicate for the filter as the message ("cannot
// remove items"), or kOutOfMemory, likewise ("to grow").
Status RepeatChange(Filter& filter, const Change& change);

}  // namespace bitsieve::core
