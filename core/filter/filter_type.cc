#include "core/filter/filter_type.h"

#include "core/base/parse.h"
#include "core/filter/filter.h"

namespace bitsieve::core {

Status TypeOption::Read(std::string_view input, FilterParams& params) const {
  if (param == nullptr) return read(input, params);
  const std::optional<uint64_t> number = ParseUnsigned(input);
  if (!number || !param->Allows(*number)) {
    const char* const pronoun = param->name.ends_with('s') ? "they" : "it";
    return OutOfRange("bad " + std::string(param->name) + ": " + pronoun + " must be " + param->Range());
  }
  params.own.Set(*param, *number);
  return {};
}

std::string TypeOption::Text(const FilterParams& params) const {
  return param == nullptr ? text(params) : std::to_string(params.own.Get(*param));
}

InfoValue InfoField::Value(const Filter& filter, const FilterInfo& info) const {
  return param == nullptr ? value(filter, info) : filter.params().own.Get(*param);
}

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

std::string AFilterOf(const FilterTypeRow& type) {
  const bool vowel = std::string_view("aeiou").find(type.name.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(type.name) + " filter";
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
  return AFilterOf(type) + " cannot " + std::string(what) + "; types that can: " + FilterTypeNames(", ", can);
}

std::string_view FilterTypeNames() {
  static const std::string names = FilterTypeNames(", ", [](const FilterTypeRow&) { return true; });
  return names;
}

}  // namespace bitsieve::core
