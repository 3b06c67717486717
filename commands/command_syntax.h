// command_syntax.h: the arguments of a command, read off the syntax of its row: for COMMAND DOCS, for the
// documentation, and for hosts that keep such a description themselves. Thread-safe: a pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bitsieve::commands {

// One argument of a command as COMMAND DOCS reports it.
struct ArgumentDoc {
  std::string name;
  std::string_view type;  // "key", "string", "pure-token", "oneof" or "block"
  std::string token;      // the literal that goes before it, if any
  bool optional = false;
  bool multiple = false;
  std::vector<ArgumentDoc> arguments = {};  // of oneof and block
};

std::vector<ArgumentDoc> ParseSyntax(std::string_view syntax);

}  // namespace bitsieve::commands
