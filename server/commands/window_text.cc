#include "server/commands/window_text.h"

#include <array>

#include "server/commands/argument_reader.h"

namespace bitsieve::server {
namespace {

struct Unit {
  std::string_view name;
  uint64_t ms;
};

// The largest first.
constexpr std::array kUnits{Unit{"d", 24ULL * 3600 * 1000}, Unit{"h", 3600ULL * 1000}, Unit{"m", 60ULL * 1000},
                            Unit{"s", 1000}, Unit{"ms", 1}};

}  // namespace

std::optional<core::WindowSpan> ParseWindow(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<uint64_t> number = ParseUnsigned(text.substr(0, digits));
  if (!number || *number == 0) return std::nullopt;
  const std::string_view suffix = text.substr(digits);
  if (suffix.empty()) {
    return *number <= core::kMaxCapacity ? std::optional(core::WindowSpan{.items = *number}) : std::nullopt;
  }
  for (const Unit& unit : kUnits) {
    if (!EqualsIgnoringCase(unit.name, suffix)) continue;
    if (*number > core::kMaxWindowMs / unit.ms || *number * unit.ms < core::kMinWindowMs) return std::nullopt;
    return core::WindowSpan{.duration_ms = *number * unit.ms};
  }
  return std::nullopt;
}

std::string WindowText(const core::WindowSpan& window) {
  if (!window.of_time()) return std::to_string(window.items);
  const Unit* unit = kUnits.begin();
  while (window.duration_ms % unit->ms != 0) ++unit;
  return std::to_string(window.duration_ms / unit->ms) + std::string(unit->name);
}

}  // namespace bitsieve::server
