#include "cli/migrate/migration_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/client/units.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kFailuresShown = 20;

uint64_t KeyCount(const OtherKeys& others) {
  uint64_t count = 0;
  for (const auto& [type, keys] : others.counts) count += keys;
  return count;
}

nlohmann::ordered_json JsonOf(const ContentReport& contents) {
  return {{"equal", contents.equal},
          {"bytes", contents.equal_bytes},
          {"different", JsonOf(contents.different)},
          {"unread", JsonOf(contents.unread)}};
}

void PrintMoves(std::ostream& out, const Outcomes& outcomes) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", outcomes.seconds);
  out << CountText(outcomes.moves.moved) << " filters moved in " << seconds << " s ("
      << SizeText(outcomes.moves.moved_bytes) << "), " << CountText(outcomes.moves.failures.size()) << " not moved";
  if (outcomes.already_there != 0) out << ", " << CountText(outcomes.already_there) << " moved before";
  out << '\n';
  if (outcomes.moves.made_empty != 0) {
    out << CountText(outcomes.moves.made_empty) << " of them were created empty: add their items with bitsieve load\n";
  }
  PrintOthers(out, outcomes.others);
  if (outcomes.live_changes != 0) {
    out << CountText(outcomes.live_changes) << " later changes applied, " << CountText(outcomes.refused_changes)
        << " refused\n";
  }
  if (outcomes.refused_changes != 0) out << "The first refusal: " << outcomes.first_refusal << '\n';
}

}  // namespace

nlohmann::ordered_json JsonOf(const FoundSketches& sketches) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [type, keys] : sketches.by_type()) json[type] = {{"count", keys.count}, {"names", keys.names}};
  return json;
}

nlohmann::ordered_json JsonOf(const std::vector<MoveFailure>& failures) {
  auto json = nlohmann::ordered_json::array();
  for (const MoveFailure& each : failures) json.push_back({{"filter", each.name}, {"reason", each.reason}});
  return json;
}

std::string Line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void PrintOthers(std::ostream& out, const OtherKeys& others) {
  if (const uint64_t count = KeyCount(others); count != 0) {
    out << CountText(count) << " other keys skipped:";
    const char* comma = " ";
    for (const auto& [type, keys] : others.counts) {
      out << comma << CountText(keys) << ' ' << type;
      comma = ", ";
    }
    out << '\n';
  }
  if (others.expired != 0) out << CountText(others.expired) << " filters and sketches have expired and are skipped\n";
  if (const uint64_t count = others.sketches.count(); count != 0) {
    out << CountText(count) << (count == 1 ? " sketch is not moved: " : " sketches are not moved: ") << kPlaceOfSketches
        << '\n';
    for (const std::string& line : others.sketches.Lines()) out << "  " << line << '\n';
  }
}

void PrintOutcomes(std::ostream& out, const Outcomes& outcomes) {
  if (!outcomes.moves_nothing) PrintMoves(out, outcomes);
  for (const SampleFile& each : outcomes.samples) {
    out << core::PrintableName(each.key) << ": of " << CountText(each.result.items) << " items of " << each.file << ", "
        << CountText(each.result.before) << " were there before, " << CountText(each.result.now) << " are now, "
        << CountText(each.result.missing) << " are missing\n";
  }
  if (!outcomes.contents) return;
  out << CountText(outcomes.contents->equal) << " filters have the same content on both sides ("
      << SizeText(outcomes.contents->equal_bytes) << "), " << CountText(outcomes.contents->different.size())
      << " differ";
  if (const size_t unread = outcomes.contents->unread.size(); unread != 0) {
    out << ", " << CountText(unread) << " could not be compared";
  }
  out << '\n';
}

void PrintJson(std::ostream& out, const Outcomes& outcomes) {
  nlohmann::ordered_json report = {{"moved", outcomes.moves.moved},
                                   {"made_empty", outcomes.moves.made_empty},
                                   {"bytes", outcomes.moves.moved_bytes},
                                   {"moved_before", outcomes.already_there},
                                   {"failed", JsonOf(outcomes.moves.failures)},
                                   {"other_keys", outcomes.others.counts},
                                   {"sketches", JsonOf(outcomes.others.sketches)},
                                   {"expired", outcomes.others.expired},
                                   {"live_changes", outcomes.live_changes},
                                   {"refused_changes", outcomes.refused_changes},
                                   {"seconds", outcomes.seconds},
                                   {"samples", nlohmann::ordered_json::array()},
                                   {"contents", nullptr}};
  if (outcomes.contents) report["contents"] = JsonOf(*outcomes.contents);
  for (const SampleFile& each : outcomes.samples) {
    report["samples"].push_back({{"filter", each.key},
                                 {"items", each.result.items},
                                 {"before", each.result.before},
                                 {"now", each.result.now},
                                 {"missing", each.result.missing}});
  }
  out << Line(report);
}

void PrintFailures(std::ostream& out, const std::vector<MoveFailure>& failures) {
  for (size_t i = 0; i < std::min(failures.size(), kFailuresShown); ++i) {
    out << "bitsieve migrate: " << core::PrintableName(failures[i].name) << ": " << failures[i].reason << '\n';
  }
  if (failures.size() > kFailuresShown) {
    out << "bitsieve migrate: and " << CountText(failures.size() - kFailuresShown) << " more; --json lists all\n";
  }
}

}  // namespace bitsieve::cli
