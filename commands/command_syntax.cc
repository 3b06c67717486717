#include "commands/command_syntax.h"

#include <algorithm>
#include <cctype>

#include "core/base/parse.h"

namespace bitsieve::commands {
namespace {

bool IsLiteral(std::string_view word) {
  return std::ranges::none_of(word, [](char byte) { return std::islower(static_cast<unsigned char>(byte)) != 0; });
}

// Recursive descent over a row's syntax. It reads our own literals only, so it assumes that they are well formed.
//   alternatives  sequence { "|" sequence }
//   sequence      { word | "[" alternatives "]" | "<" alternatives ">" }       a word "..." repeats what is before it
class SyntaxParser {
 public:
  explicit SyntaxParser(std::string_view syntax) : rest_(syntax) {}

  std::vector<ArgumentDoc> Sequence() {
    std::vector<ArgumentDoc> arguments;
    while (!Peek().empty() && Peek() != "]" && Peek() != ">" && Peek() != "|") {
      const std::string_view word = Take();
      if (word == "[" || word == "<") {
        Group(word == "[", arguments);
      } else if (word == "...") {
        repeats_ = true;
      } else {
        arguments.push_back(Word(word));
      }
    }
    return arguments;
  }

 private:
  static size_t WordSize(std::string_view text) {
    constexpr std::string_view kMarks = "[]<>|";
    if (kMarks.find(text.front()) != std::string_view::npos) return 1;
    return std::min(text.find_first_of(" []<>|"), text.size());
  }
  std::string_view Peek() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    return rest_.empty() ? rest_ : rest_.substr(0, WordSize(rest_));
  }
  std::string_view Take() {
    const std::string_view word = Peek();
    rest_.remove_prefix(word.size());
    return word;
  }

  // Reads "NAME", "NAME value", "NAME <value | value>", or "value".
  ArgumentDoc Word(std::string_view word) {
    if (!IsLiteral(word)) return {.name = std::string(word), .type = TypeOf(word), .token = {}};
    const std::string_view next = Peek();
    if (next == "<") {
      Take();
      ArgumentDoc value = Alternatives();
      value.name = core::LowerCase(word);
      value.token = word;
      return value;
    }
    const bool has_value = !next.empty() && !IsLiteral(next);
    if (!has_value) return {.name = core::LowerCase(word), .type = "pure-token", .token = std::string(word)};
    Take();
    return {.name = std::string(next), .type = TypeOf(next), .token = std::string(word)};
  }
  static std::string_view TypeOf(std::string_view name) { return name.ends_with("key") ? "key" : "string"; }

  // Several arguments that belong together become one.
  static ArgumentDoc Joined(std::string_view type, std::vector<ArgumentDoc> parts) {
    if (parts.size() == 1) return std::move(parts.front());
    return {.name = parts.front().name, .type = type, .token = {}, .arguments = std::move(parts)};
  }

  // Reads what is between brackets, the closing one included.
  ArgumentDoc Alternatives() {
    std::vector<ArgumentDoc> alternatives;
    do {
      alternatives.push_back(Joined("block", Sequence()));
    } while (Take() == "|");
    return Joined("oneof", std::move(alternatives));
  }

  // "[item ...]" after "item" means that "item" may be repeated.
  void Group(bool optional, std::vector<ArgumentDoc>& arguments) {
    repeats_ = false;
    ArgumentDoc group = Alternatives();
    const size_t parts = std::max<size_t>(1, group.arguments.size());
    if (repeats_ && arguments.size() >= parts && arguments[arguments.size() - parts].name == group.name) {
      const auto from = arguments.end() - static_cast<std::ptrdiff_t>(parts);
      ArgumentDoc repeated = Joined("block", std::vector<ArgumentDoc>(from, arguments.end()));
      arguments.erase(from, arguments.end());
      group = std::move(repeated);
      optional = false;
    }
    group.multiple = group.multiple || repeats_;
    group.optional = optional;
    repeats_ = false;
    arguments.push_back(std::move(group));
  }

  std::string_view rest_;
  bool repeats_ = false;  // "..." was read in the innermost group
};

}  // namespace

std::vector<ArgumentDoc> ParseSyntax(std::string_view syntax) { return SyntaxParser(syntax).Sequence(); }

}  // namespace bitsieve::commands
