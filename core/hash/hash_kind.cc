#include "core/hash/hash_kind.h"

#include <string>

#include "core/base/parse.h"

namespace bitsieve::core {

std::string_view HashKindName(HashKind kind) {
  for (const HashKindRow& row : kHashKinds) {
    if (row.kind == kind) return row.name;
  }
  return "unknown";
}

std::optional<HashKind> HashKindFromName(std::string_view name) {
  for (const HashKindRow& row : kHashKinds) {
    if (EqualsIgnoringCase(row.name, name)) return row.kind;
  }
  return std::nullopt;
}

std::string_view HashKindNames() {
  static const std::string names = [] {
    std::string joined;
    for (const HashKindRow& row : kHashKinds) {
      if (!joined.empty()) joined += ", ";
      joined += row.name;
    }
    return joined;
  }();
  return names;
}

}  // namespace bitsieve::core
