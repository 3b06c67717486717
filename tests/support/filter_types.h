// filter_types.h: filter types by what they can do, for tests that run on each of them. Thread-safe: constants.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/filter/filter_type.h"

namespace bitsieve::test {

inline bool ByReserve(const core::FilterTypeRow& type) { return type.made.by_reserve; }
inline bool AnyHash(const core::FilterTypeRow& type) { return type.made.any_hash; }
inline bool Removes(const core::FilterTypeRow& type) { return type.can.remove; }
inline bool Counts(const core::FilterTypeRow& type) { return type.can.count; }
inline bool Freezes(const core::FilterTypeRow& type) { return type.can.freeze; }
inline bool Denies(const core::FilterTypeRow& type) { return type.can.deny; }
inline bool Merges(const core::FilterTypeRow& type) { return type.unite != nullptr; }
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

// Returns the options that must be given for a type, with a value for a filter of this capacity: only windows have one,
// whose value is a number of items.
inline std::vector<std::pair<std::string, std::string>> RequiredOptions(const std::string& type, uint64_t capacity) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const core::TypeOption& option : core::FindFilterType(type)->options) {
    if (IsRequired(option)) options.emplace_back(option.word, std::to_string(capacity));
  }
  return options;
}

}  // namespace bitsieve::test
