// planner.h: which filter suits a need, and what it costs: the figures are those of core::ForecastOf, for the
// parameters that the server reads from the BF.RESERVE line of the plan. Thread-safe: plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/families/window/window_type.h"
#include "core/filter/forecast.h"

namespace bitsieve::cli {

inline constexpr uint64_t kMaxPlannedItems = uint64_t{1} << 48;

// Two of items, error_rate and memory_bytes are given. If items or error_rate is 0, it is worked out; memory_bytes is
// not.
struct Need {
  uint64_t items = 0;  // at most kMaxPlannedItems
  double error_rate = 0;
  uint64_t memory_bytes = 0;
  bool removes = false;                         // items are removed, too
  bool is_static = false;                       // nothing is added once the set is complete
  bool stays_fixed = false;                     // NONSCALING
  std::optional<core::WindowSpan> window = {};  // items are forgotten
  uint64_t ttl_ms = 0;                          // items expire one by one, at the latest after this time; 0: never
  std::string type = {};                        // of this type; empty: of the one that suits best
};

// A filter that meets the need.
struct Candidate {
  const core::FilterTypeRow* type = nullptr;
  std::string reserve;  // the command that makes it, of the key "key"
  core::FilterParams params;
  core::Forecast full;  // with all items

  double bits_per_item() const { return 8 * static_cast<double>(full.size_bytes) / static_cast<double>(full.items); }
};

// A filter that a server has now.
struct PresentFilter {
  std::string name;
  std::string type;
  uint64_t items = 0;
  uint64_t capacity = 0;
  uint64_t size_bytes = 0;
  double requested_error_rate = 0;
  double estimated_error_rate = 0;

  double bits_per_item() const { return 8 * static_cast<double>(size_bytes) / static_cast<double>(capacity); }
};

// How BF.FOLD can make such a filter smaller.
struct FoldPlan {
  PresentFilter filter;
  std::vector<core::FoldStep> steps;  // the largest first; none if it is as small as it can be

  // Returns the command for the smallest one, of the key "key" if the name is no word; empty if there is none.
  std::string Command() const;
};

struct Plan {
  Need need;  // with what was worked out
  Candidate best;
  std::string reason;                // why this type
  core::Forecast reserved;           // empty
  core::Forecast half, full, twice;  // of the items needed
  // The same items in a filter that begins with the room of default-capacity; nothing of a type that does not grow by
  // sub-filters.
  std::optional<core::Forecast> grown;
  uint64_t grown_from = 0;                              // items
  std::vector<Candidate> possible;                      // all that would do, `best` among them, the smallest first
  std::optional<PresentFilter> present = std::nullopt;  // to be shown next to it
};

// Returns the plan. The error names what is wrong and what would be possible.
core::Outcome<Plan> MakePlan(const Need& need);
// Returns Plan::possible for a need whose items and error rate are given.
std::vector<Candidate> PossibleFor(const Need& need);

}  // namespace bitsieve::cli
