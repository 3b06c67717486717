// command_docs.h: the descriptions of commands from their rows, for COMMAND DOCS and for the documentation.
// Thread-safe: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.h"
#include "protocol/reply_writer.h"
#include "server/namespace.h"

namespace bitsieve::server {

// One argument of a command as COMMAND DOCS reports it; read off a row's syntax.
struct ArgumentDoc {
  std::string name;
  std::string_view type;  // "key", "string", "pure-token", "oneof" or "block"
  std::string token;      // the literal that goes before it, if any
  bool optional = false;
  bool multiple = false;
  std::vector<ArgumentDoc> arguments = {};  // of oneof and block
};

std::vector<ArgumentDoc> ParseSyntax(std::string_view syntax);

struct GroupDoc {
  CommandGroup group;
  std::string_view name;   // as COMMAND DOCS has it
  std::string_view title;  // of its section in the documentation
};

// Every group, in the order of the documentation.
std::span<const GroupDoc> GroupDocs();

// The map of COMMAND DOCS about one command, subcommands included; its name goes before it.
void WriteCommandDocs(protocol::ReplyWriter& reply, const CommandRow& row);

}  // namespace bitsieve::server
