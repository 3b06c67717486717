#include "core/filters/filter_kind.h"

#include <strings.h>

#include <string>

namespace bitsieve::core {

std::string_view FilterKindName(FilterKind kind) {
  for (const FilterKindRow& row : kFilterKinds) {
    if (row.kind == kind) return row.name;
  }
  return "unknown";
}

std::optional<FilterKind> FilterKindFromName(std::string_view name) {
  for (const FilterKindRow& row : kFilterKinds) {
    if (row.name.size() == name.size() && strncasecmp(row.name.data(), name.data(), name.size()) == 0) return row.kind;
  }
  return std::nullopt;
}

std::string_view FilterKindNames() {
  static const std::string names = [] {
    std::string joined;
    for (const FilterKindRow& row : kFilterKinds) {
      if (!joined.empty()) joined += ", ";
      joined += row.name;
    }
    return joined;
  }();
  return names;
}

}  // namespace bitsieve::core
