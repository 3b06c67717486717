// migration_report.h: what `bitsieve migrate` has done, and how it prints that, for people and as JSON. Confined to one
// thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/migrate/content_check.h"
#include "cli/migrate/filter_source.h"
#include "cli/migrate/mover.h"
#include "cli/migrate/sample_check.h"

namespace bitsieve::cli {

struct SampleFile {
  std::string key;
  std::string file;
  SampleResult result = {};
};

struct Outcomes {
  bool moves_nothing = false;  // filters that were moved before are only compared
  MoveReport moves = {};
  uint64_t already_there = 0;  // moved by an earlier run
  OtherKeys others = {};
  uint64_t live_changes = 0;
  uint64_t refused_changes = 0;
  std::string first_refusal = {};
  std::vector<SampleFile> samples = {};
  std::optional<ContentReport> contents = {};  // if they were compared
  double seconds = 0;

  bool all_well() const {
    const bool are_equal = !contents || (contents->different.empty() && contents->unread.empty());
    return moves.failures.empty() && refused_changes == 0 && are_equal &&
           std::ranges::all_of(samples, [](const SampleFile& each) { return each.result.missing == 0; });
  }
};

// The reason for which a filter is not moved if its name is taken.
inline constexpr std::string_view kNameIsTaken = "the new server has a filter of this name: --replace replaces it";

nlohmann::ordered_json JsonOf(const FoundSketches& sketches);
nlohmann::ordered_json JsonOf(const std::vector<MoveFailure>& failures);
// Returns it as a line. Names that are not UTF-8 are made so.
std::string Line(const nlohmann::ordered_json& json);

// Prints keys that stay where they are.
void PrintOthers(std::ostream& out, const OtherKeys& others);
void PrintOutcomes(std::ostream& out, const Outcomes& outcomes);
void PrintJson(std::ostream& out, const Outcomes& outcomes);
// Prints the first failures, and how many more there are.
void PrintFailures(std::ostream& out, const std::vector<MoveFailure>& failures);

}  // namespace bitsieve::cli
