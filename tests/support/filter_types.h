// filter_types.h: filter types by what they can do, for tests that run on each of them. Thread-safe: constants.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::test {

inline bool ByReserve(const core::FilterTypeRow& type) { return type.made.by_reserve; }
inline bool AnyHash(const core::FilterTypeRow& type) { return type.made.any_hash; }
inline bool Removes(const core::FilterTypeRow& type) { return type.can.remove; }
inline bool Counts(const core::FilterTypeRow& type) { return type.can.count; }
inline bool Freezes(const core::FilterTypeRow& type) { return type.can.freeze; }
inline bool Denies(const core::FilterTypeRow& type) { return type.can.deny; }
inline bool Merges(const core::FilterTypeRow& type) { return type.unite != nullptr; }
inline bool Folds(const core::FilterTypeRow& type) { return type.fold != nullptr; }
inline bool Maps(const core::FilterTypeRow& type) { return type.map != nullptr; }

// Names of those that fit, in the order of the table.
inline std::vector<std::string> TypeNames(bool (*fits)(const core::FilterTypeRow& type)) {
  std::vector<std::string> names;
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    if (fits(*type)) names.emplace_back(type->name);
  }
  return names;
}

// Returns the end of the error for a type that cannot: "types that can: counting, cuckoo".
inline std::string TypesThatCan(bool (*can)(const core::FilterTypeRow& type)) {
  return "types that can: " + core::FilterTypeNames(", ", can);
}

inline bool IsRequired(const core::TypeOption& option) {
  return option.param == nullptr && option.default_text.empty();
}

// Returns the options that must be given for a type, with a value for a filter of this capacity: a number of items if
// the option accepts one, otherwise a time within which no test ends.
inline std::vector<std::pair<std::string, std::string>> RequiredOptions(std::string_view type, uint64_t capacity) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const core::TypeOption& option : core::FindFilterType(type)->options) {
    if (!IsRequired(option)) continue;
    core::FilterParams params;
    const std::string items = std::to_string(capacity);
    options.emplace_back(option.word, option.Read(items, params) ? items : "24h");
  }
  return options;
}
// Sets what must be set for the type of the parameters, for their capacity.
inline void SetRequiredParams(core::FilterParams& params) {
  const core::FilterTypeRow& type = *core::FindFilterType(params.type);
  for (const auto& [word, value] : RequiredOptions(type.name, params.capacity)) {
    const auto option = std::ranges::find(type.options, word, &core::TypeOption::word);
    static_cast<void>(option->Read(value, params));
  }
  if (!type.can.grow) params.expansion = 0;
}

}  // namespace bitsieve::test
