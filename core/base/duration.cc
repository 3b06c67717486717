#include "core/base/duration.h"

#include <algorithm>
#include <array>

#include "core/base/parse.h"

namespace bitsieve::core {
namespace {

struct Unit {
  std::string_view name;
  uint64_t ms;
};

// The largest first.
constexpr std::array kUnits{Unit{"d", 24ULL * 3600 * 1000}, Unit{"h", 3600ULL * 1000}, Unit{"m", 60ULL * 1000},
                            Unit{"s", 1000}, Unit{"ms", 1}};

}  // namespace

std::optional<uint64_t> ParseDuration(std::string_view text, uint64_t max_ms) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<uint64_t> number = ParseUnsigned(text.substr(0, digits));
  if (!number) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (!EqualsIgnoringCase(unit.name, text.substr(digits))) continue;
    if (*number > max_ms / unit.ms) return std::nullopt;
    return *number * unit.ms;
  }
  return std::nullopt;
}

std::string DurationText(uint64_t ms) {
  const Unit* unit = kUnits.begin();
  while (ms % unit->ms != 0) ++unit;
  return std::to_string(ms / unit->ms) + std::string(unit->name);
}

}  // namespace bitsieve::core
