// ACL: users, and what they may do.

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "commands/weigh.h"
#include "server/auth/categories.h"
#include "server/commands/all_commands.h"
#include "server/commands/help.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/access.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/server_control.h"
#include "server/session/client_list.h"

namespace bitsieve::server {

using namespace commands;

namespace acl_commands {
namespace {

using protocol::ReplyWriter;

template <class Texts>
void WriteTexts(ReplyWriter& reply, const Texts& texts) {
  reply.ArrayHeader(texts.size());
  for (const auto& text : texts) reply.BulkString(text);
}

void WriteField(ReplyWriter& reply, std::string_view name, std::string_view value) {
  reply.BulkString(name);
  reply.BulkString(value);
}

// ---- users

void WhoAmI(ServerContext& context) { context.reply.BulkString(context.session.access.user->name()); }

void UserNames(ServerContext& context) {
  const std::vector<UserPtr> users = context.server.users->All();
  context.reply.ArrayHeader(users.size());
  for (const UserPtr& user : users) context.reply.BulkString(user->name());
}

void List(ServerContext& context) {
  const std::vector<UserPtr> users = context.server.users->All();
  context.reply.ArrayHeader(users.size());
  for (const UserPtr& user : users) context.reply.BulkString(user->Text());
}

void WritePermissions(ReplyWriter& reply, const Permissions& permissions) {
  WriteField(reply, "commands", permissions.CommandsText());
  WriteField(reply, "keys", permissions.KeysText());
  WriteField(reply, "channels", permissions.ChannelsText());
}

void GetUser(ServerContext& context) {
  const UserPtr user = context.server.users->Find(context.arguments[2]);
  if (user == nullptr) return context.reply.Null();
  ReplyWriter& reply = context.reply;
  reply.MapHeader(6);
  reply.BulkString("flags");
  WriteTexts(reply, user->Flags());
  reply.BulkString("passwords");
  reply.ArrayHeader(user->passwords().size());
  for (const PasswordHash& hash : user->passwords()) reply.BulkString(HexOf(hash));
  WritePermissions(reply, user->root());
  reply.BulkString("selectors");
  reply.ArrayHeader(user->selectors().size());
  for (const Permissions& selector : user->selectors()) {
    reply.MapHeader(3);
    WritePermissions(reply, selector);
  }
}

// The users whose clients are to be closed: all of them, or only those that are subscribed to something.
using LosersByName = std::unordered_map<std::string, bool>;

// Clients of a user that is gone are closed, and so are subscribers of one that has lost channels. What they are
// subscribed to is known to their loops alone, so that all subscribers of the user are closed.
void RecordLosses(LosersByName& losers, const User& before, const UserPtr& now) {
  const bool only_subscribers = now != nullptr;
  if (only_subscribers && now->CoversChannelsOf(before)) return;
  losers.emplace(before.name(), only_subscribers);
}

// Looks at each client once.
void CloseClients(ServerContext& context, const LosersByName& losers) {
  if (losers.empty()) return;
  for (const auto& client : context.server.clients->All()) {
    const auto found = losers.find(client->user());
    if (found == losers.end() || (found->second && !client->is_subscribed())) continue;
    if (client == context.session.client) {
      context.session.closing = true;
    } else {
      client->Close(found->second ? "its user may no longer use some of its channels" : "its user was removed");
    }
  }
}

void SetUserRules(ServerContext& context) {
  const std::string_view name = context.arguments[2];
  Users& users = *context.server.users;
  const UserPtr before = users.Find(name);
  const core::Status status = users.Set(name, context.arguments.subspan(3));
  if (!status) return context.Error(wire::Error(status.error().message));
  LosersByName losers;
  if (before != nullptr) RecordLosses(losers, *before, users.Find(name));
  CloseClients(context, losers);
  context.reply.Ok();
}

void DeleteUsers(ServerContext& context) {
  const Arguments names = context.arguments.subspan(2);
  if (std::ranges::count(names, kDefaultUser) != 0) return context.Error(wire::kDefaultUserStays);
  LosersByName losers;
  for (const std::string_view name : names) {
    if (context.server.users->Remove(name)) losers.emplace(name, false);
  }
  CloseClients(context, losers);
  context.reply.Integer(static_cast<int64_t>(losers.size()));
}

// ---- the file

void Load(ServerContext& context) {
  const std::vector<UserPtr> before = context.server.users->All();
  const core::Status status = context.control().LoadUsers();
  if (!status) return context.Error(wire::Error(status.error().message));
  LosersByName losers;
  for (const UserPtr& user : before) RecordLosses(losers, *user, context.server.users->Find(user->name()));
  CloseClients(context, losers);
  context.reply.Ok();
}

void Save(ServerContext& context) {
  const core::Status status = context.control().SaveUsers();
  if (!status) return context.Error(wire::Error(status.error().message));
  context.reply.Ok();
}

// ---- what there is

// The names of a category's commands, and of subcommands without their container.
std::vector<std::string_view> CommandsOf(const CommandTable& table, const Category& category) {
  std::vector<std::string_view> names;
  for (const CommandRow* row : table.rows()) {
    if (category.has(*row)) names.push_back(row->name);
    for (const CommandRow& subcommand : row->subcommands) {
      if (category.has(subcommand)) names.push_back(subcommand.name);
    }
  }
  return names;
}

void ListCategories(ServerContext& context) {
  if (context.arguments.size() == 3) {
    const Category* const category = FindCategory(context.arguments[2]);
    if (category == nullptr) return context.Error(wire::UnknownCategory(context.arguments[2]));
    return WriteTexts(context.reply, CommandsOf(context.table(), *category));
  }
  context.reply.ArrayHeader(Categories().size());
  for (const Category& category : Categories()) context.reply.BulkString(category.name);
}

void GeneratePassword(ServerContext& context) {
  constexpr int64_t kDefaultBits = 256, kMaxBits = 4096;
  const std::optional<int64_t> bits = context.arguments.size() == 2 ? kDefaultBits : ParseInteger(context.arguments[2]);
  if (!bits || *bits <= 0 || *bits > kMaxBits) return context.Error(wire::kGeneratedBits);
  context.reply.BulkString(RandomPassword(static_cast<size_t>(*bits)));
}

void DryRun(ServerContext& context) {
  const UserPtr user = context.server.users->Find(context.arguments[2]);
  if (user == nullptr) return context.Error(wire::UserNotFound(context.arguments[2]));
  const Arguments command = context.arguments.subspan(3);
  const CommandRow* row = context.table().Find(command[0]);
  if (row == nullptr) return context.Error(wire::CommandNotFound(command[0]));
  if (!row->subcommands.empty() && command.size() > 1) row = CommandTable::FindSubcommand(*row, command[1]);
  if (row == nullptr) return context.Error(wire::CommandNotFound(command[1]));
  if (!ArityFits(*row, command.size())) return context.Error(commands::ArityError(*row));
  const Verdict verdict = user->Check(*row, command);
  if (verdict.allowed()) return context.reply.Ok();
  context.reply.BulkString(ReasonText(*user, verdict, *row, command));
}

// ---- what was refused

std::string_view ReasonName(AccessRefusal::Reason reason) {
  using enum AccessRefusal::Reason;
  switch (reason) {
    case kPassword:
      return "auth";
    case kCommand:
      return "command";
    case kKey:
      return "key";
    case kChannel:
      return "channel";
  }
  return {};
}

void WriteEntry(ReplyWriter& reply, const AccessLogEntry& entry, int64_t now_ms) {
  const auto number = [&reply](std::string_view name, int64_t value) {
    reply.BulkString(name);
    reply.Integer(value);
  };
  reply.MapHeader(10);
  number("count", static_cast<int64_t>(entry.count));
  WriteField(reply, "reason", ReasonName(entry.refusal.reason));
  WriteField(reply, "context", entry.refusal.in_transaction ? "multi" : "toplevel");
  WriteField(reply, "object", entry.refusal.object);
  WriteField(reply, "username", entry.refusal.username);
  reply.BulkString("age-seconds");
  reply.Double(static_cast<double>(now_ms - entry.created_ms) / 1000);
  WriteField(reply, "client-info", entry.refusal.client);
  number("entry-id", static_cast<int64_t>(entry.id));
  number("timestamp-created", entry.created_ms);
  number("timestamp-last-updated", entry.updated_ms);
}

void Log(ServerContext& context) {
  AccessLog& log = *context.server.access_log;
  if (context.arguments.size() == 3 && EqualsIgnoringCase(context.arguments[2], "RESET")) {
    log.Clear();
    return context.reply.Ok();
  }
  constexpr int64_t kDefaultEntries = 10;
  const std::optional<int64_t> most =
      context.arguments.size() == 2 ? kDefaultEntries : ParseInteger(context.arguments[2]);
  if (!most || *most < 0) return context.Error(wire::kNotPositive);
  const std::vector<AccessLogEntry> entries = log.Entries(static_cast<size_t>(*most));
  const int64_t now_ms = context.server.clock->WallMs();
  context.reply.ArrayHeader(entries.size());
  for (const AccessLogEntry& entry : entries) WriteEntry(context.reply, entry, now_ms);
}

constexpr CommandRow kSubcommands[] = {
    HelpRow("acl|help", "6.0.0"),
    {.name = "acl|whoami",
     .arity = 2,
     .flags = kLoading,
     .since = "6.0.0",
     .complexity = "O(1)",
     .summary = "Returns the name of the user as which this client is authenticated.",
     .handler = On<WhoAmI>},
    {.name = "acl|users",
     .arity = 2,
     .flags = kAdmin | kLoading,
     .since = "6.0.0",
     .complexity = "O(users)",
     .summary = "Returns the names of all users.",
     .weigh = WeighMany,
     .handler = On<UserNames>},
    {.name = "acl|list",
     .arity = 2,
     .flags = kAdmin | kLoading,
     .since = "6.0.0",
     .complexity = "O(users)",
     .summary = "Returns all users with their rules, as ACL SAVE writes them to the file.",
     .weigh = WeighMany,
     .handler = On<List>},
    {.name = "acl|getuser",
     .arity = 3,
     .flags = kAdmin | kLoading,
     .since = "6.0.0",
     .complexity = "O(rules)",
     .summary = "Returns the flags, password hashes and rules of a user, or nil if there is none.",
     .syntax = "username",
     .handler = On<GetUser>},
    {.name = "acl|setuser",
     .arity = -3,
     .flags = kAdmin | kSecret | kLoading,
     .since = "6.0.0",
     .complexity = "O(rules)",
     .summary = "Creates or changes a user by rules. Either all rules are applied or none.",
     .syntax = "username [rule [rule ...]]",
     .notes =
         "The rules are those of Redis; [Access](access.md) lists them. The new rules apply to the user's connected "
         "clients from their next command on. Subscribed clients are closed if the user loses access to any channel.",
     .weigh = WeighArguments,
     .handler = On<SetUserRules>},
    {.name = "acl|deluser",
     .arity = -3,
     .max_arguments = 1024,
     .flags = kAdmin | kLoading,
     .since = "6.0.0",
     .complexity = "O(users + connections)",
     .summary = "Removes users and closes their connections. Returns how many there were.",
     .syntax = "username [username ...]",
     .handler = On<DeleteUsers>},
    {.name = "acl|cat",
     .arity = -2,
     .max_arguments = 3,
     .flags = kLoading,
     .since = "6.0.0",
     .complexity = "O(commands)",
     .summary = "Returns the categories of commands, or the commands of one category.",
     .syntax = "[category]",
     .notes = "The categories of Redis' data types are empty.",
     .handler = On<ListCategories>},
    {.name = "acl|genpass",
     .arity = -2,
     .max_arguments = 3,
     .flags = kLoading,
     .since = "6.0.0",
     .complexity = "O(1)",
     .summary = "Returns a random password in hexadecimal digits, with 256 bits unless a number is given.",
     .syntax = "[bits]",
     .handler = On<GeneratePassword>},
    {.name = "acl|dryrun",
     .arity = -4,
     .flags = kAdmin | kSecret | kLoading,
     .since = "7.0.0",
     .complexity = "O(rules)",
     .summary = "Returns OK if the user may run the command, or else the reason. The command is not run.",
     .syntax = "username command [arg [arg ...]]",
     .weigh = WeighArguments,
     .handler = On<DryRun>},
    {.name = "acl|log",
     .arity = -2,
     .max_arguments = 3,
     .flags = kAdmin | kLoading,
     .since = "6.0.0",
     .complexity = "O(entries)",
     .summary = "Returns what was refused: wrong passwords, commands, keys and channels. The latest comes first. "
                "Without a count, 10 entries are returned.",
     .syntax = "[count | RESET]",
     .notes = "Equal refusals within a minute are combined into one entry with a count. acllog-max-len limits the "
              "number of entries.",
     .handler = On<Log>},
    {.name = "acl|load",
     .arity = 2,
     .flags = kAdmin | kLoading,
     .since = "6.0.0",
     .complexity = "O(users)",
     .summary = "Reads all users from the file again, or none if a line of it is wrong.",
     .notes = "Clients of users that no longer exist are disconnected.",
     .weigh = WeighMany,
     .handler = On<Load>},
    {.name = "acl|save",
     .arity = 2,
     .flags = kAdmin | kLoading,
     .since = "6.0.0",
     .complexity = "O(users)",
     .summary = "Writes all users to the file (aclfile).",
     .weigh = WeighMany,
     .handler = On<Save>},
};

constexpr CommandRow kRows[] = {
    {.name = "acl",
     .arity = -2,
     .since = "6.0.0",
     .complexity = "that of the subcommand",
     .summary = "Commands about users, and what they may do.",
     .subcommands = kSubcommands},
};

}  // namespace
}  // namespace acl_commands

std::span<const CommandRow> AclCommands() { return acl_commands::kRows; }

}  // namespace bitsieve::server
