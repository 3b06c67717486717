#include <array>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/command.h"
#include "server/commands/all_commands.h"
#include "server/commands/command_docs.h"
#include "server/dispatch/command_table.h"
#include "server/namespace.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

using server::CommandFlag;
using server::CommandGroup;
using server::CommandRow;

constexpr std::string_view kIntroduction =
    R"(<!-- Written by scripts/docs from the rows of commands and server/commands. -->
# Commands

Names are the same in upper and lower case. Arguments are binary safe. `[...]` may be left out, words in capitals are
written as they are. `COMMAND DOCS` returns the same.

Errors that are not about a command's arguments: `-LOADING` while the filters are being loaded at start (except from
commands with the flag "also while loading"), `-MISCONF` from commands with the flag "write" while the disk refuses what
must be logged, `-OOM` from those that maxmemory refuses.
)";

constexpr std::array kFlags = {
    std::pair{CommandFlag::kWrite, "write"},
    std::pair{CommandFlag::kReadOnly, "read-only"},
    std::pair{CommandFlag::kDenyOom, "may be refused by maxmemory"},
    std::pair{CommandFlag::kFast, "fast"},
    std::pair{CommandFlag::kAdmin, "admin"},
    std::pair{CommandFlag::kNoMulti, "not within MULTI"},
    std::pair{CommandFlag::kLoading, "also while loading"},
};

// "client|list" as people type it: "CLIENT LIST".
std::string Title(const CommandRow& row) {
  std::string title;
  for (const char c : row.name)
    title += c == '|' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return title;
}

std::string Flags(const CommandRow& row) {
  std::string flags;
  for (const auto& [flag, name] : kFlags) {
    if ((row.flags & flag) != 0) flags += (flags.empty() ? "" : ", ") + std::string(name);
  }
  return flags;
}

void AppendFact(std::string_view name, std::string_view value, std::string& page) {
  if (value.empty()) return;
  page += "- " + std::string(name) + ": " + std::string(value) + "\n";
}

void AppendCommand(const CommandRow& row, std::string& page) {
  page += "\n### " + Title(row) + "\n\n```\n" + Title(row);
  if (!row.syntax.empty()) page += " " + std::string(row.syntax);
  page += "\n```\n\n" + std::string(row.summary) + "\n";
  if (!row.notes.empty()) page += "\n" + std::string(row.notes) + "\n";
  page += "\n";
  AppendFact("Since", row.since, page);
  AppendFact("Cost", row.complexity, page);
  AppendFact("Flags", Flags(row), page);
}

// A container that does nothing of its own stands for its subcommands.
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

std::vector<Section> Sections() {
  std::vector<Section> sections;
  for (const server::GroupDoc& group : server::GroupDocs()) {
    Section& section = sections.emplace_back(group.title);
    for (const CommandRow* row : server::AllCommands().rows()) Collect({row, 1}, group.group, section.rows);
  }
  return sections;
}

// The name that GitHub gives a heading: lower case, hyphens for blanks, no dots.
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

// A line of the table of contents for each section, wrapped where a page of Markdown is.
void AppendContents(const std::vector<Section>& sections, std::string& page) {
  constexpr size_t kWidth = 120;
  for (const Section& section : sections) {
    std::string line = "- [" + std::string(section.title) + "](#" + Anchor(section.title) + "):";
    for (const CommandRow* row : section.rows) {
      const std::string link = " [" + Title(*row) + "](#" + Anchor(Title(*row)) + ")";
      if (line.size() + link.size() > kWidth) {
        page += line + "\n";
        line = " ";
      }
      line += link;
    }
    page += line + "\n";
  }
}

}  // namespace

std::string CommandsPage() {
  const std::vector<Section> sections = Sections();
  std::string page(kIntroduction);
  page += "\n";
  AppendContents(sections, page);
  for (const Section& section : sections) {
    page += "\n## " + std::string(section.title) + "\n";
    for (const CommandRow* row : section.rows) AppendCommand(*row, page);
  }
  return page;
}

}  // namespace bitsieve::lint
