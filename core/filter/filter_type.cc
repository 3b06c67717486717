#include "core/filter/filter_type.h"

#include "core/base/parse.h"

namespace bitsieve::core {

const FilterTypeRow* FindFilterType(FilterType type) {
  for (const FilterTypeRow* row : FilterTypes()) {
    if (row->type == type) return row;
  }
  return nullptr;
}

const FilterTypeRow* FindFilterType(std::string_view name) {
  for (const FilterTypeRow* row : FilterTypes()) {
    if (EqualsIgnoringCase(row->name, name)) return row;
  }
  return nullptr;
}

const FilterTypeRow* FindFilterType(bool (*fits)(const FilterTypeRow& row)) {
  for (const FilterTypeRow* row : FilterTypes()) {
    if (fits(*row)) return row;
  }
  return nullptr;
}

std::string_view FilterTypeName(FilterType type) {
  const FilterTypeRow* const row = FindFilterType(type);
  return row == nullptr ? "unknown" : row->name;
}

std::string FilterTypeNames(std::string_view separator, bool (*fits)(const FilterTypeRow& row)) {
  std::string names;
  for (const FilterTypeRow* row : FilterTypes()) {
    if (!fits(*row)) continue;
    if (!names.empty()) names += separator;
    names += row->name;
  }
  return names;
}

std::string CannotText(const FilterTypeRow& type, std::string_view what, bool (*can)(const FilterTypeRow& row)) {
  return "a " + std::string(type.name) + " filter cannot " + std::string(what) +
         "; types that can: " + FilterTypeNames(", ", can);
}

std::string_view FilterTypeNames() {
  static const std::string names = FilterTypeNames(", ", [](const FilterTypeRow&) { return true; });
  return names;
}

}  // namespace bitsieve::core
