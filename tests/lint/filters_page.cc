#include <string>

#include "core/filter/filter_type.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

constexpr std::string_view kBegin = "<!-- Written by scripts/docs from the rows of core/families. -->\n";
constexpr std::string_view kEnd = "<!-- End of what scripts/docs writes. -->\n";

std::string_view YesOrNo(bool yes) { return yes ? "yes" : "no"; }

std::string Table() {
  std::string table =
      "| filter type | BF.DEL | BF.COUNT | grows | BF.MERGE | what it is |\n|---|---|---|---|---|---|\n";
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    const std::string name(type->name);
    table += "| [" + name + "](" + name + ".md)";
    for (const bool can : {type->can.remove, type->can.count, type->can.grow, type->unite != nullptr}) {
      table.append(" | ").append(YesOrNo(can));
    }
    table.append(" | ").append(type->summary).append(" |\n");
  }
  return table;
}

}  // namespace

std::string FiltersPage(const std::string& current) {
  const size_t begin = current.find(kBegin);
  const size_t end = current.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "its table has no marks";
  return current.substr(0, begin + kBegin.size()) + Table() + current.substr(end);
}

}  // namespace bitsieve::lint
