#include "cli/shell/suggestions.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "cli/shell/next_words.h"
#include "cli/shell/reply_text.h"
#include "core/base/parse.h"
#include "core/base/quote.h"
#include "core/filter/filter_type.h"
#include "protocol/plain_line.h"
#include "server/commands/all_commands.h"
#include "server/commands/command_docs.h"

namespace bitsieve::cli {
namespace {

using commands::CommandRow;
using server::TitleOf;

std::string LastWord(const std::string& title) { return title.substr(title.rfind(' ') + 1); }

// The row of a command, and how many words its name has.
struct Named {
  const CommandRow* row = nullptr;
  size_t words = 0;
};

Named CommandIn(std::span<const std::string> words) {
  if (words.empty()) return {};
  const CommandRow* const row = server::AllCommands().Find(words[0]);
  if (row == nullptr || row->subcommands.empty() || words.size() == 1) return {row, 1};
  const CommandRow* const subcommand = server::CommandTable::FindSubcommand(*row, words[1]);
  if (subcommand != nullptr) return {subcommand, 2};
  return {row->handler == nullptr ? nullptr : row, 1};
}

void OfferRow(const CommandRow& row, NextWords& next) { next.literals.push_back(LastWord(TitleOf(row))); }

// The syntax of BF.RESERVE and BF.INSERT does not list the types.
bool AsksForFilterType(const CommandRow& row, const std::string& last, const NextWords& next) {
  return row.group == commands::CommandGroup::kBloom && core::EqualsIgnoringCase(last, "TYPE") &&
         next.hint.starts_with("type");
}

NextWords NextAfter(std::span<const std::string> words) {
  NextWords next;
  if (!words.empty() && core::EqualsIgnoringCase(words[0], "HELP")) words = words.subspan(1);
  if (words.empty()) {
    for (const CommandRow* const row : server::AllCommands().rows()) OfferRow(*row, next);
    return next;
  }
  const Named command = CommandIn(words);
  if (command.row == nullptr) return next;
  next = NextWordsOf(commands::ParseSyntax(command.row->syntax), words.subspan(command.words));
  if (command.words == words.size()) {
    for (const CommandRow& row : command.row->subcommands) OfferRow(row, next);
  }
  if (AsksForFilterType(*command.row, words.back(), next)) {
    for (const core::FilterTypeRow* const type : core::FilterTypes()) next.literals.emplace_back(type->name);
  }
  return next;
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Returns where the word that is being typed begins.
size_t LastWordStart(std::string_view line) {
  size_t start = 0;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0 && c == '\\') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (IsBlank(c)) {
      start = i + 1;
    }
  }
  return start;
}

// Returns the text of a word whose quote may still be open.
std::string Unquoted(std::string_view word) {
  for (const std::string_view closing : {"", "\"", "'"}) {
    const auto words = WordsOf(std::string(word) + std::string(closing));
    if (words) return words->empty() ? "" : words->front();
  }
  return std::string(word);
}

std::string QuotedIfNeeded(const std::string& word) {
  const bool is_plain = std::ranges::all_of(
      word, [](char c) { return core::IsPrintable(c) && c != ' ' && c != '"' && c != '\'' && c != '\\'; });
  if (is_plain) return word;
  std::ostringstream quoted;
  PrintQuoted(quoted, word);
  return quoted.str();
}

void AppendUsage(const CommandRow& row, std::string& text) {
  const std::string syntax = row.syntax.empty() ? "" : " " + std::string(row.syntax);
  text += TitleOf(row) + syntax + "\n  " + std::string(row.summary) + "\n";
}

std::string AllNames() {
  constexpr size_t kWidth = 78;
  std::string text = "help COMMAND shows its arguments and what it does, Tab completes what is typed.\n";
  for (const server::GroupDoc& group : server::GroupDocs()) {
    text += "\n" + std::string(group.title) + "\n";
    std::string line;
    for (const CommandRow* const row : server::AllCommands().rows()) {
      if (row->group != group.group) continue;
      const std::string title = TitleOf(*row);
      if (line.size() + title.size() > kWidth) text += std::exchange(line, "") + "\n";
      line += (line.empty() ? "  " : " ") + title;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::optional<std::vector<std::string>> WordsOf(std::string_view line) {
  std::string unescaped(line);
  std::vector<std::string_view> words;
  if (!protocol::SplitPlainLine(unescaped, words)) return std::nullopt;
  return std::vector<std::string>(words.begin(), words.end());
}

std::string HintFor(std::string_view line) {
  const auto words = WordsOf(line);
  if (!words || words->empty()) return "";
  const Named command = CommandIn(*words);
  if (command.row == nullptr) return "";
  const std::string hint = command.row->handler == nullptr ? "subcommand" : NextAfter(*words).hint;
  return hint.empty() || IsBlank(line.back()) ? hint : " " + hint;
}

Completion CompletionFor(std::string_view line, const NamesOf& names) {
  const size_t start = LastWordStart(line);
  const auto words = WordsOf(line.substr(0, start));
  if (!words) return {};
  const std::string typed = Unquoted(line.substr(start));
  const NextWords next = NextAfter(*words);
  Completion completion{.replaced = line.size() - start};
  for (const std::string& literal : next.literals) {
    if (core::LowerCase(literal).starts_with(core::LowerCase(typed))) completion.words.push_back(literal);
  }
  if (next.is_key) {
    for (const std::string& name : names(typed)) completion.words.push_back(QuotedIfNeeded(name));
  }
  std::ranges::sort(completion.words);
  return completion;
}

bool MayHoldSecret(std::string_view line) {
  const auto words = WordsOf(line);
  if (!words) return true;  // it may be half of anything
  const CommandRow* const row = CommandIn(*words).row;
  if (row != nullptr) return (row->flags & commands::kSecret) != 0 && words->size() > 1;
  // Commands of other servers: MIGRATE ... AUTH2, SENTINEL SET ... auth-pass.
  return std::ranges::any_of(*words, [](const std::string& word) {
    const std::string lower = core::LowerCase(word);
    return lower.find("auth") != std::string::npos || lower.find("pass") != std::string::npos;
  });
}

std::string HelpText(std::span<const std::string> command) {
  if (command.empty()) return AllNames();
  const Named named = CommandIn(command);
  if (named.row == nullptr || named.words != command.size()) {
    return "unknown command " + core::Quoted(command.front()) + "; help lists all commands\n";
  }
  std::string text;
  if (named.row->handler != nullptr) AppendUsage(*named.row, text);
  for (const CommandRow& row : named.row->subcommands) AppendUsage(row, text);
  return text;
}

}  // namespace bitsieve::cli
