#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "commands/sketch_commands.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

constexpr std::string_view kSketchesBegin = "<!-- Written by scripts/docs from the rows of commands. -->\n";
constexpr std::string_view kSketchesEnd = "<!-- End of what scripts/docs writes. -->\n";

std::string UpperCase(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

std::string SketchTables() {
  std::string tables;
  for (const auto& rows : commands::kSketchCommands) {
    tables += "| command | what it does | cost |\n|---|---|---|\n";
    for (const commands::CommandRow& row : rows()) {
      tables += "| `" + UpperCase(row.name) + " " + std::string(row.syntax) + "`";
      for (const std::string_view text : {row.summary, row.complexity}) tables.append(" | ").append(text);
      tables += " |\n";
    }
    tables += "\n";
  }
  return tables;
}

}  // namespace

std::string SketchesPage(const std::string& current) {
  return Between(current, kSketchesBegin, kSketchesEnd, SketchTables());
}

}  // namespace bitsieve::lint
