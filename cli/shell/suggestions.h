// suggestions.h: what the shell knows of a line while it is typed, read off the rows of the commands: hints, the words
// that Tab offers, help, and which lines hold secrets. Commands of other servers are unknown to it. Thread-safe: pure
// functions, except for those of the caller.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitsieve::cli {

// Returns the words of a line, quoted as redis-cli has it; nothing if a quote is left open or not followed by a blank.
std::optional<std::vector<std::string>> WordsOf(std::string_view line);

// Returns the arguments that are missing from the line, to be shown after it; empty if nothing is known.
std::string HintFor(std::string_view line);

// Tab replaces the last bytes of the line, `replaced` of them, by one of the words.
struct Completion {
  size_t replaced = 0;
  std::vector<std::string> words = {};
};

// Returns names of filters that begin with a prefix.
using NamesOf = std::function<std::vector<std::string>(const std::string& prefix)>;

Completion CompletionFor(std::string_view line, const NamesOf& names);

// Whether the line may hold a password, so that no history may keep it.
bool MayHoldSecret(std::string_view line);

// Returns the syntax and summary of a command; without a name, the names of all.
std::string HelpText(std::span<const std::string> command);

}  // namespace bitsieve::cli
