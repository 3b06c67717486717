// filter_copy.h: a filter as a server had it at a position, and what brings it further: a dump in chunks, then runs of
// changes. It can be kept in a file (docs/formats/changes.md).
// Thread-compatible: one thread changes it. Others may look items up meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::clients {

struct FilterCopy {
  // A limit of 0 bytes is none.
  explicit FilterCopy(uint64_t limit_bytes) : budget(limit_bytes) {}

  // Makes the changes. On an error, some may be made: the copy is then of no position.
  core::Status Apply(std::string_view runs);

  core::MemoryBudget budget;
  core::FilterClock clock;
  std::unique_ptr<core::Filter> filter;
  std::string position;
};

// A copy whose dump arrives in chunks, of which the first has the dump's whole head.
class ArrivingCopy {
 public:
  explicit ArrivingCopy(uint64_t limit_bytes) : copy_(std::make_unique<FilterCopy>(limit_bytes)) {}

  core::Status Append(std::string_view chunk);
  // To be called once, after the last chunk.
  core::Result<std::unique_ptr<FilterCopy>> Finish(std::string position);

 private:
  std::unique_ptr<FilterCopy> copy_;
  std::unique_ptr<core::FilterDecoder> decoder_;
};

// The two write and read a file. `key` is the filter's name, `saved_ms` the wall time up to which the copy was known to
// be current. kIo, with a message that names the file; kCorrupt if it is damaged, or of another key.
core::Status SaveCopy(const std::string& path, std::string_view key, const FilterCopy& copy, int64_t saved_ms);
struct SavedCopy {
  std::unique_ptr<FilterCopy> copy;
  int64_t saved_ms;
};
core::Result<SavedCopy> LoadCopy(const std::string& path, std::string_view key, uint64_t limit_bytes);

}  // namespace bitsieve::clients
