#include <array>
#include <cctype>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/command.h"
#include "server/auth/categories.h"
#include "server/commands/all_commands.h"
#include "server/commands/command_docs.h"
#include "server/dispatch/command_table.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

using commands::CommandFlag;
using commands::CommandGroup;
using commands::CommandRow;
using server::TitleOf;

// The facts of a command are one line, which begins with this; the handwritten text ends before it.
constexpr std::string_view kFacts = "Since: ";
constexpr std::string_view kHeading = "### ";
constexpr std::string_view kFence = "```";
constexpr std::string_view kTableHead = "| Reply | When |\n";
constexpr std::string_view kListItem = "\n- [";  // the table of contents is the first list of a page

constexpr std::array kFlags = {
    std::pair{CommandFlag::kWrite, "write"},
    std::pair{CommandFlag::kReadOnly, "read-only"},
    std::pair{CommandFlag::kDenyOom, "may be refused by maxmemory"},
    std::pair{CommandFlag::kFast, "fast"},
    std::pair{CommandFlag::kAdmin, "admin"},
    std::pair{CommandFlag::kNoMulti, "not within MULTI"},
    std::pair{CommandFlag::kLoading, "also while loading"},
};

std::string Flags(const CommandRow& row) {
  std::string flags;
  for (const auto& [flag, name] : kFlags) {
    if ((row.flags & flag) != 0) flags += (flags.empty() ? "" : ", ") + std::string(name);
  }
  return flags;
}

// Returns the row's categories as access rules name them.
std::string Categories(const CommandRow& row) {
  std::string categories;
  for (const std::string_view name : server::CategoriesOf(row)) {
    categories += (categories.empty() ? "@" : " @") + std::string(name);
  }
  return categories;
}

void AppendFact(std::string_view name, std::string_view value, std::string& page) {
  if (!value.empty()) page += " · " + std::string(name) + ": " + std::string(value);
}

// The examples and tables of replies, by the headings of their sections.
using HandWritten = std::map<std::string, std::string>;

// Returns the handwritten parts of a page. They begin with the first block of code whose fence names a language, and
// end before the line of facts.
HandWritten HandWrittenOn(const std::string& page) {
  HandWritten found;
  std::string* section = nullptr;
  bool by_hand = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kHeading)) section = &found[line.substr(kHeading.size())];
    if (line.starts_with(kFence) && line != kFence) by_hand = true;
    if (line.starts_with(kFacts) || line.starts_with(kHeading)) by_hand = false;
    if (by_hand && section != nullptr) *section += line + "\n";
  }
  return found;
}

void AppendCommand(const CommandRow& row, const std::string& by_hand, std::string& page) {
  page += "\n" + std::string(kHeading) + TitleOf(row) + "\n\n```\n" + TitleOf(row);
  if (!row.syntax.empty()) page += " " + std::string(row.syntax);
  page += "\n```\n\n" + std::string(row.summary) + "\n";
  if (!row.notes.empty()) page += "\n" + std::string(row.notes) + "\n";
  page += "\n" + by_hand + std::string(kFacts) + server::SinceText(row);
  AppendFact("Cost", row.complexity, page);
  AppendFact("Flags", Flags(row), page);
  AppendFact("Categories", Categories(row), page);
  page += "\n";
}

// Collects the rows of a group that have a handler. A container that does nothing of its own is represented by its
// subcommands.
void Collect(std::span<const CommandRow> rows, CommandGroup group, std::vector<const CommandRow*>& found) {
  for (const CommandRow& row : rows) {
    if (row.handler != nullptr && row.group == group) found.push_back(&row);
    Collect(row.subcommands, group, found);
  }
}

struct Section {
  std::string_view title;
  std::vector<const CommandRow*> rows;
};

bool IsAboutFilters(CommandGroup group) {
  return group == CommandGroup::kBloom || group == CommandGroup::kCuckoo || group == CommandGroup::kGeneric;
}

std::vector<Section> Sections(bool about_filters) {
  std::vector<Section> sections;
  for (const server::GroupDoc& group : server::GroupDocs()) {
    if (IsAboutFilters(group.group) != about_filters) continue;
    Section& section = sections.emplace_back(group.title);
    for (const CommandRow* row : server::AllCommands().rows()) Collect({row, 1}, group.group, section.rows);
  }
  return sections;
}

// Returns the anchor that GitHub gives a heading: lower case, hyphens for blanks, no dots.
std::string Anchor(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return anchor;
}

// Appends a line of the table of contents for each section, wrapped where a page of Markdown is.
void AppendContents(const std::vector<Section>& sections, std::string& page) {
  constexpr size_t kWidth = 120;
  for (const Section& section : sections) {
    std::string line = "- [" + std::string(section.title) + "](#" + Anchor(section.title) + "):";
    for (const CommandRow* row : section.rows) {
      const std::string link = " [" + TitleOf(*row) + "](#" + Anchor(TitleOf(*row)) + ")";
      if (line.size() + link.size() > kWidth) {
        page += line + "\n";
        line = " ";
      }
      line += link;
    }
    page += line + "\n";
  }
}

std::string Page(const std::vector<Section>& sections, const std::string& current) {
  HandWritten by_hand = HandWrittenOn(current);
  std::string page = current.substr(0, current.find(kListItem)) + "\n";
  AppendContents(sections, page);
  for (const Section& section : sections) {
    page += "\n## " + std::string(section.title) + "\n";
    for (const CommandRow* row : section.rows) AppendCommand(*row, by_hand[TitleOf(*row)], page);
  }
  return page;
}

}  // namespace

std::string FilterCommandsPage(const std::string& current) { return Page(Sections(true), current); }

std::string ServerCommandsPage(const std::string& current) { return Page(Sections(false), current); }

std::vector<std::string> CommandsPageProblems(const std::string& current, const std::string& written) {
  std::vector<std::string> problems;
  const HandWritten commands = HandWrittenOn(written);
  for (const auto& [command, by_hand] : commands) {
    const bool is_whole = by_hand.starts_with(kFence) && by_hand.find(kTableHead) != std::string::npos;
    if (!is_whole) problems.push_back(command + " needs an example and a table of replies, below its summary");
  }
  for (const auto& [section, by_hand] : HandWrittenOn(current)) {
    if (!commands.contains(section)) problems.push_back(section + " has a section, and is no command of this page");
  }
  return problems;
}

}  // namespace bitsieve::lint
