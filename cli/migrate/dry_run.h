// dry_run.h: what `bitsieve migrate --dry-run` finds out: which filters would come, what they take now and on the new
// server, and what cannot come. Confined to one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/bulk/server_client.h"
#include "cli/migrate/filter_source.h"
#include "cli/migrate/mover.h"
#include "core/base/result.h"

namespace bitsieve::cli {

// Sums over filters.
struct SizeSums {
  uint64_t filters = 0;
  uint64_t file_bytes = 0;  // in an RDB file
  uint64_t before = 0;
  uint64_t after = 0;
  bool is_before_known = true;  // of all
  bool is_estimate = false;     // `after`, of one at least

  void Add(const FoundFilter& filter, const FilterSize& size);
};

// Memory of the new server.
struct TargetMemory {
  uint64_t used = 0;
  uint64_t maximum = 0;  // 0: no limit
};

// Reads the reply to INFO memory.
TargetMemory MemoryOf(const std::string& info);

// Returns the size of an empty filter of another type, which a filter of this shape and size is made again as.
FilterSize SizeAs(const std::string& type, const FilterShape& shape, FilterSize size);

class DryRun {
 public:
  // `is_file`: the filters are in an RDB file, where the memory that they took is not recorded.
  DryRun(bool is_file, bool is_json) : is_file_(is_file), is_json_(is_json) {}

  // Adds a filter that could be moved, or that has a problem. Prints its line unless the report is JSON.
  void Add(std::ostream& out, const FoundFilter& filter, const FilterSize& size);
  // Adds a filter whose name is taken on the new server.
  void AddTaken(const FoundFilter& filter, bool is_replaced);
  void set_target(const TargetMemory& memory) { target_ = memory; }

  // Returns whether all filters can come, and fit.
  bool all_well() const { return failures_.empty() && !is_too_large(); }
  const std::vector<MoveFailure>& failures() const { return failures_; }
  void Print(std::ostream& out, const OtherKeys& others) const;

 private:
  bool is_too_large() const { return target_ && target_->maximum != 0 && total_.after > room(); }
  uint64_t room() const { return target_->maximum - std::min(target_->maximum, target_->used); }
  void PrintTable(std::ostream& out) const;
  void PrintJson(std::ostream& out, const OtherKeys& others) const;

  const bool is_file_, is_json_;
  std::map<std::string, SizeSums> by_type_;
  SizeSums total_;
  uint64_t replaced_ = 0;
  std::vector<MoveFailure> failures_;
  std::optional<TargetMemory> target_;
  std::vector<std::pair<FoundFilter, FilterSize>> listed_;  // for JSON
};

// Adds filters of a source to a dry run, a page at a time. `target` may be null: then it is not asked for its names and
// memory. Prints a line for each filter.
core::Outcome<void> Survey(FilterSource& source, const std::vector<FoundFilter>& found, ServerClient* target,
                           const MoveSettings& settings, std::ostream& out, DryRun& dry_run);

}  // namespace bitsieve::cli
