// filter_source.h: where `bitsieve migrate` reads filters from: an RDB file or a running server. Confined to one
// thread. Errors are for people.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/migrate/content_reader.h"
#include "cli/migrate/sketch_keys.h"
#include "core/base/result.h"
#include "core/filter/filter.h"

namespace bitsieve::cli {

struct FoundFilter {
  std::string name;
  uint64_t bytes = 0;       // about what it takes
  int64_t expires_ms = 0;   // since 1970; 0: never
  bool is_cuckoo = false;   // of RedisBloom's CF.* commands
  bool is_valkeys = false;  // of valkey-bloom, which has no chunks: DUMP is all that it hands out
  uint64_t place = 0;       // where its source finds it again
};

// FilterSize says what a filter takes before and after a move.
struct FilterSize {
  std::string type = {};     // filter type on the new server
  uint64_t before = 0;       // bytes of the old server's memory; 0: unknown
  uint64_t after = 0;        // bytes of the new server's memory, with the name
  bool is_estimate = false;  // whether `after` is one
  std::string problem = {};  // why it cannot be read; empty if it can, or if that is not known
};

// Returns the size that a filter has here, where it is as on the new server.
FilterSize SizeOf(const core::Filter& filter, std::string_view name);

// Keys that Find found and did not visit. Filters and sketches of databases other than 0 are among the counts.
struct OtherKeys {
  std::map<std::string, uint64_t> counts = {};  // by type
  FoundSketches sketches = {};
  uint64_t expired = 0;  // filters and sketches
};

// A command for the new server, without its first argument, the name of the filter.
struct TargetCommand {
  std::string command;
  std::vector<std::string> arguments;
};

// The commands that make a filter under a free name, in order. The name is taken with the last of them.
class FilterCommands {
 public:
  virtual ~FilterCommands() = default;
  virtual core::Outcome<std::optional<TargetCommand>> Next() = 0;
  // Returns whether they also set the filter's expiry and, if requested, replace what has the name.
  virtual bool are_all() const { return false; }
};

// The error rate and the capacity that a filter was made for.
struct FilterShape {
  double error_rate = 0;
  uint64_t capacity = 0;  // over all sub-filters
};

class FilterSource {
 public:
  using Visit = std::function<void(FoundFilter)>;

  virtual ~FilterSource() = default;
  // Calls visit(filter) for each whose name matches the glob pattern. After an error the caller may continue with those
  // visited.
  virtual core::Outcome<OtherKeys> Find(std::string_view pattern, const Visit& visit) = 0;
  // Returns the size of each filter. The source reads as much of them as it can without burdening a server.
  virtual core::Outcome<std::vector<FilterSize>> Measure(std::span<const FoundFilter* const> filters) = 0;
  // Announces the filters that are opened next: the source may read some of them ahead, together.
  virtual core::Outcome<void> Prepare(std::span<const FoundFilter* const> /*filters*/, bool /*replace*/) { return {}; }
  // The filter and the source outlive what is returned.
  virtual core::Outcome<std::unique_ptr<FilterCommands>> Open(const FoundFilter& filter) = 0;
  // Returns the shape of a Bloom filter of RedisBloom; nothing for any other filter.
  virtual core::Outcome<std::optional<FilterShape>> ShapeOf(const FoundFilter& filter) = 0;
  // Returns a reader of the content of filters. The source outlives it, and is not used for
  // anything else until all are read.
  virtual std::unique_ptr<ContentReader> Contents() = 0;
};

}  // namespace bitsieve::cli
