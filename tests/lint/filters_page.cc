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

std::string Between(const std::string& page, std::string_view begin, std::string_view end, const std::string& written) {
  const size_t from = page.find(begin);
  const size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos || to < from) return "its table has no marks";
  return page.substr(0, from + begin.size()) + written + page.substr(to);
}

std::string FiltersPage(const std::string& current) { return Between(current, kBegin, kEnd, Table()); }

}  // namespace bitsieve::lint
