// command_docs.h: the descriptions of commands from their rows, for COMMAND DOCS and for the documentation.
// Thread-safe: pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "commands/command.h"
#include "commands/command_syntax.h"
#include "protocol/reply_writer.h"

namespace bitsieve::server {

struct GroupDoc {
  commands::CommandGroup group;
  std::string_view name;   // as COMMAND DOCS has it
  std::string_view title;  // of its section in the documentation
};

// Every group, in the order of the documentation.
std::span<const GroupDoc> GroupDocs();

// Returns a command's name as people type it: "CLIENT LIST" of the row "client|list".
std::string TitleOf(const commands::CommandRow& row);

// Returns the product that had the command first: "Redis 1.0.0", "RedisBloom 2.4.4", "Bitsieve 1.0.0".
std::string SinceText(const commands::CommandRow& row);

// The map of COMMAND DOCS about one command, subcommands included; its name goes before it.
void WriteCommandDocs(protocol::ReplyWriter& reply, const commands::CommandRow& row);

}  // namespace bitsieve::server
