#include "server/commands/help.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "server/dispatch/command_table.h"

namespace bitsieve::server {

using namespace commands;

namespace {

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](unsigned char byte) { return std::toupper(byte); });
  return upper;
}

}  // namespace

// Replies in the layout of Redis.
void Help(ServerContext& context) {
  const CommandRow& container = *context.table().Find(context.arguments[0]);
  context.reply.ArrayHeader(1 + 2 * container.subcommands.size());
  context.reply.SimpleString(UpperCase(container.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const CommandRow& row : container.subcommands) {
    std::string line = UpperCase(row.name.substr(container.name.size() + 1));
    if (!row.syntax.empty()) line.append(" ").append(row.syntax);
    context.reply.SimpleString(line);
    context.reply.SimpleString("    " + std::string(row.summary));
  }
}

}  // namespace bitsieve::server
