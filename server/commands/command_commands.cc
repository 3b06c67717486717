// COMMAND: what the server can do, read off the rows.

#include <string>
#include <vector>

#include "commands/weigh.h"
#include "core/base/glob.h"
#include "server/auth/categories.h"
#include "server/commands/all_commands.h"
#include "server/commands/check_pattern.h"
#include "server/commands/command_docs.h"
#include "server/commands/help.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/command_table.h"
#include "server/metrics/server_identity.h"

namespace bitsieve::server {

using namespace commands;

namespace command_commands {
namespace {

using protocol::ReplyWriter;

// Those that RedisBloom's module has in Redis: BF.* and CF.*.
bool IsModuleCommand(const CommandRow& row) {
  return row.group == CommandGroup::kBloom || row.group == CommandGroup::kCuckoo;
}

std::vector<std::string_view> FlagNames(const CommandRow& row) {
  std::vector<std::string_view> names;
  if (row.flags & kWrite) names.push_back("write");
  if (row.flags & kReadOnly) names.push_back("readonly");
  if (row.flags & kDenyOom) names.push_back("denyoom");
  if (IsModuleCommand(row)) names.push_back("module");
  if (row.flags & kAdmin) names.push_back("admin");
  if (row.flags & kFast) names.push_back("fast");
  if (row.flags & kNoMulti) names.push_back("no_multi");
  if (row.flags & kNoAuth) names.push_back("no_auth");
  if (row.flags & kLoading) names.push_back("loading");
  if (row.flags & kSkipMonitor) names.insert(names.end(), {"skip_monitor", "skip_slowlog"});
  return names;
}

std::vector<std::string> CategoryNames(const CommandRow& row) {
  std::vector<std::string> names;
  for (const std::string_view name : CategoriesOf(row)) names.push_back("@" + std::string(name));
  return names;
}

template <class Text>
void WriteSet(ReplyWriter& reply, const std::vector<Text>& names) {
  reply.SetHeader(names.size());
  for (const Text& name : names) reply.SimpleString(name);
}

// The ten elements of COMMAND INFO: tips and key specifications are empty.
void WriteRow(ReplyWriter& reply, const CommandRow& row) {
  reply.ArrayHeader(10);
  reply.BulkString(row.name);
  reply.Integer(row.arity);
  WriteSet(reply, FlagNames(row));
  reply.Integer(row.keys.first);
  reply.Integer(row.keys.last);
  reply.Integer(row.keys.step);
  WriteSet(reply, CategoryNames(row));
  reply.ArrayHeader(0);
  reply.ArrayHeader(0);
  reply.ArrayHeader(row.subcommands.size());
  for (const CommandRow& subcommand : row.subcommands) WriteRow(reply, subcommand);
}

void WriteAllRows(ServerContext& context) {
  context.reply.ArrayHeader(context.table().rows().size());
  for (const CommandRow* row : context.table().rows()) WriteRow(context.reply, *row);
}

void Command(ServerContext& context) { WriteAllRows(context); }

void Count(ServerContext& context) { context.reply.Integer(static_cast<int64_t>(context.table().rows().size())); }

void Info(ServerContext& context) {
  const Arguments names = context.arguments.subspan(2);
  if (names.empty()) return WriteAllRows(context);
  context.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) {
    const CommandRow* row = context.table().FindFull(name);
    if (row == nullptr) {
      context.reply.NullArray();
    } else {
      WriteRow(context.reply, *row);
    }
  }
}

void Docs(ServerContext& context) {
  std::vector<const CommandRow*> rows;
  for (const std::string_view name : context.arguments.subspan(2)) {
    if (const CommandRow* row = context.table().FindFull(name)) rows.push_back(row);
  }
  if (context.arguments.size() == 2) rows = context.table().rows();
  context.reply.MapHeader(rows.size());
  for (const CommandRow* row : rows) {
    context.reply.BulkString(row->name);
    WriteCommandDocs(context.reply, *row);
  }
}

using RowFilter = bool (*)(const CommandRow& row, std::string_view wanted);

bool HasCategory(const CommandRow& row, std::string_view wanted) {
  const Category* const category = FindCategory(wanted);
  return category != nullptr && category->has(row);
}

bool IsOfModule(const CommandRow& row, std::string_view wanted) {
  return IsModuleCommand(row) && EqualsIgnoringCase(wanted, kModuleName);
}

bool FitsPattern(const CommandRow& row, std::string_view wanted) { return core::GlobMatch(wanted, row.name); }

RowFilter ReadRowFilter(ArgumentReader& reader) {
  if (reader.Skip("MODULE")) return IsOfModule;
  if (reader.Skip("ACLCAT")) return HasCategory;
  if (reader.Skip("PATTERN")) return FitsPattern;
  reader.Fail(wire::kSyntax);
  return nullptr;
}

void List(ServerContext& context) {
  ArgumentReader reader(context.arguments, 2);
  RowFilter fits = FitsPattern;
  std::string_view wanted = "*";
  if (reader.Skip("FILTERBY")) {
    fits = ReadRowFilter(reader);
    wanted = reader.Next(wire::kSyntax);
  }
  if (reader.More()) reader.Fail(wire::kSyntax);
  if (!reader.ok()) return context.Error(reader.error());
  if (!CheckPattern(context, wanted)) return;

  std::vector<std::string_view> names;
  for (const CommandRow* row : context.table().rows()) {
    if (fits(*row, wanted)) names.push_back(row->name);
  }
  context.reply.ArrayHeader(names.size());
  for (const std::string_view name : names) context.reply.BulkString(name);
}

constexpr CommandRow kSubcommands[] = {
    HelpRow("command|help", "5.0.0", CommandGroup::kServer, CommandGroup::kConnection),
    {.name = "command|count",
     .arity = 2,
     .flags = kLoading,
     .category = CommandGroup::kConnection,
     .since = "2.8.13",
     .complexity = "O(1)",
     .summary = "Returns the number of commands.",
     .handler = On<Count>},
    {.name = "command|info",
     .arity = -2,
     .flags = kLoading,
     .category = CommandGroup::kConnection,
     .since = "2.8.13",
     .complexity = "O(names)",
     .summary = "Returns the arity, flags and key positions of commands.",
     .syntax = "[command-name [command-name ...]]",
     .weigh = WeighArguments,
     .handler = On<Info>},
    {.name = "command|docs",
     .arity = -2,
     .flags = kLoading,
     .category = CommandGroup::kConnection,
     .since = "7.0.0",
     .complexity = "O(names)",
     .summary = "Returns the summary, arguments and cost of commands.",
     .syntax = "[command-name [command-name ...]]",
     .weigh = WeighMany,
     .handler = On<Docs>},
    {.name = "command|list",
     .arity = -2,
     .flags = kLoading,
     .category = CommandGroup::kConnection,
     .since = "7.0.0",
     .complexity = "O(commands)",
     .summary = "Returns the names of the commands.",
     .syntax = "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
     .weigh = WeighArguments,
     .handler = On<List>},
};

constexpr CommandRow kRows[] = {
    {.name = "command",
     .arity = -1,
     .flags = kLoading,
     .category = CommandGroup::kConnection,
     .since = "2.8.13",
     .complexity = "O(commands)",
     .summary = "Returns what COMMAND INFO returns, for every command.",
     .weigh = WeighMany,
     .handler = On<Command>,
     .subcommands = kSubcommands},
};

}  // namespace
}  // namespace command_commands

std::span<const CommandRow> CommandCommands() { return command_commands::kRows; }

}  // namespace bitsieve::server
