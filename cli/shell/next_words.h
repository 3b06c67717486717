// next_words.h: what may follow in a command that is being typed, read off the syntax of its row. Thread-safe: pure
// functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_syntax.h"

namespace bitsieve::cli {

struct NextWords {
  std::string hint = {};                   // the remaining arguments: "[NOCREATE] ITEMS item [item ...]"
  std::vector<std::string> literals = {};  // words that the syntax allows next
  bool is_key = false;                     // the name of a filter may come next
};

// Returns what may follow `words`, the arguments that are complete; nothing where they do not fit the syntax.
NextWords NextWordsOf(std::span<const commands::ArgumentDoc> syntax, std::span<const std::string> words);

}  // namespace bitsieve::cli
