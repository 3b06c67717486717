#include "server/commands/command_docs.h"

#include <algorithm>
#include <cctype>

namespace bitsieve::server {

using namespace commands;

namespace {

using protocol::ReplyWriter;

void WriteText(ReplyWriter& reply, std::string_view key, std::string_view value) {
  reply.BulkString(key);
  reply.BulkString(value);
}

void WriteArguments(ReplyWriter& reply, const std::vector<ArgumentDoc>& arguments);

void WriteFlags(ReplyWriter& reply, const ArgumentDoc& argument) {
  reply.BulkString("flags");
  reply.SetHeader(size_t{argument.optional} + size_t{argument.multiple});
  if (argument.optional) reply.SimpleString("optional");
  if (argument.multiple) reply.SimpleString("multiple");
}

void WriteArgument(ReplyWriter& reply, const ArgumentDoc& argument) {
  const bool flagged = argument.optional || argument.multiple;
  reply.MapHeader(2 + size_t{!argument.token.empty()} + size_t{flagged} + size_t{!argument.arguments.empty()});
  WriteText(reply, "name", argument.name);
  WriteText(reply, "type", argument.type);
  if (!argument.token.empty()) WriteText(reply, "token", argument.token);
  if (flagged) WriteFlags(reply, argument);
  if (argument.arguments.empty()) return;
  reply.BulkString("arguments");
  WriteArguments(reply, argument.arguments);
}

void WriteArguments(ReplyWriter& reply, const std::vector<ArgumentDoc>& arguments) {
  reply.ArrayHeader(arguments.size());
  for (const ArgumentDoc& argument : arguments) WriteArgument(reply, argument);
}

constexpr GroupDoc kGroups[] = {
    {CommandGroup::kBloom, "bf", "Filters"},
    {CommandGroup::kCuckoo, "cf", "Cuckoo filters of RedisBloom"},
    {CommandGroup::kGeneric, "generic", "Names"},
    {CommandGroup::kConnection, "connection", "Connections"},
    {CommandGroup::kTransactions, "transactions", "Transactions"},
    {CommandGroup::kPubSub, "pubsub", "Channels"},
    {CommandGroup::kServer, "server", "Server"},
};

std::string_view GroupName(CommandGroup group) { return std::ranges::find(kGroups, group, &GroupDoc::group)->name; }

}  // namespace

std::string TitleOf(const CommandRow& row) {
  std::string title(row.name);
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return c == '|' ? ' ' : std::toupper(c); });
  return title;
}

std::string SinceText(const CommandRow& row) {
  constexpr std::string_view kOwn = "bitsieve";
  constexpr std::string_view kValkeyBloom = "valkey-bloom";
  if (row.since.starts_with(kOwn)) return "Bitsieve" + std::string(row.since.substr(kOwn.size()));
  if (row.since.starts_with(kValkeyBloom)) return std::string(row.since);
  const bool is_of_filters = row.group == CommandGroup::kBloom || row.group == CommandGroup::kCuckoo;
  return (is_of_filters ? "RedisBloom " : "Redis ") + std::string(row.since);
}

std::span<const GroupDoc> GroupDocs() { return kGroups; }

void WriteCommandDocs(ReplyWriter& reply, const CommandRow& row) {
  const bool has_arguments = !row.syntax.empty();
  const bool has_subcommands = !row.subcommands.empty();
  reply.MapHeader(4 + size_t{has_arguments} + size_t{has_subcommands});
  WriteText(reply, "summary", row.summary);
  WriteText(reply, "since", SinceText(row));
  WriteText(reply, "group", GroupName(row.group));
  WriteText(reply, "complexity", row.complexity);
  if (has_arguments) {
    reply.BulkString("arguments");
    WriteArguments(reply, ParseSyntax(row.syntax));
  }
  if (!has_subcommands) return;
  reply.BulkString("subcommands");
  reply.MapHeader(row.subcommands.size());
  for (const CommandRow& subcommand : row.subcommands) {
    reply.BulkString(subcommand.name);
    WriteCommandDocs(reply, subcommand);
  }
}

}  // namespace bitsieve::server
