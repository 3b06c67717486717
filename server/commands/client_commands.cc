// CLIENT: this connection's name and library, and the list of all connections.

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "commands/weigh.h"
#include "server/commands/all_commands.h"
#include "server/commands/client_kill.h"
#include "server/commands/client_name.h"
#include "server/commands/help.h"
#include "server/commands/weigh_server.h"
#include "server/commands/wire_errors.h"
#include "server/session/client_description.h"
#include "server/session/client_list.h"

namespace bitsieve::server {

using namespace commands;

namespace client_commands {
namespace {

struct ListRequest {
  ClientType type = ClientType::kAny;
  std::vector<uint64_t> ids;
};

ListRequest ReadList(ArgumentReader& reader) {
  ListRequest request;
  if (reader.Skip("TYPE")) {
    request.type = ReadClientType(reader);
  } else if (reader.Skip("ID")) {
    do {
      request.ids.push_back(reader.Unsigned(wire::kSyntax, wire::kInvalidClientId));
    } while (reader.More());
  }
  if (reader.More()) reader.Fail(wire::kSyntax);
  return request;
}

void List(ServerContext& context) {
  ArgumentReader reader(context.arguments, 2);
  ListRequest request = ReadList(reader);
  if (!reader.ok()) return context.Error(reader.error());

  std::ranges::sort(request.ids);
  const int64_t now_ms = context.server.clock->MonotonicMs();
  std::string text;
  for (const auto& client : context.server.clients->All()) {
    const bool asked = request.ids.empty() || std::ranges::binary_search(request.ids, client->id);
    if (asked && !client->doomed && IsOfType(*client, request.type)) text += DescribeClient(*client, now_ms) + "\n";
  }
  context.reply.VerbatimText(text);
}

void Info(ServerContext& context) {
  context.reply.VerbatimText(DescribeClient(*context.session.client, context.server.clock->MonotonicMs()) + "\n");
}

void Id(ServerContext& context) { context.reply.Integer(static_cast<int64_t>(context.session.client->id)); }

void GetName(ServerContext& context) {
  const std::string name = context.session.client->name();
  if (name.empty()) return context.reply.Null();
  context.reply.BulkString(name);
}

void SetName(ServerContext& context) {
  const std::string_view error = ClientNameError(context.arguments[2]);
  if (!error.empty()) return context.Error(error);
  context.session.client->set_name(context.arguments[2]);
  context.reply.Ok();
}

void SetInfo(ServerContext& context) {
  const std::string_view field = context.arguments[2];
  const std::string_view value = context.arguments[3];
  const bool is_name = EqualsIgnoringCase(field, "LIB-NAME");
  if (!is_name && !EqualsIgnoringCase(field, "LIB-VER")) return context.Error(wire::UnrecognizedOption(field));
  if (value.size() > kMaxClientNameBytes) return context.Error(wire::kLongClientName);
  if (!IsPlainText(value)) return context.Error(wire::BadClientInfo(is_name ? "lib-name" : "lib-ver"));
  ClientRecord& client = *context.session.client;
  is_name ? client.set_library_name(value) : client.set_library_version(value);
  context.reply.Ok();
}

ClientPause::Scope ReadScope(ArgumentReader& reader) {
  if (!reader.More() || reader.Skip("ALL")) return ClientPause::Scope::kAll;
  if (!reader.Skip("WRITE")) reader.Fail(wire::kPauseMode);
  return ClientPause::Scope::kWrites;
}

void Pause(ServerContext& context) {
  ArgumentReader reader(context.arguments, 2);
  const int64_t timeout_ms = reader.Integer(wire::kTimeoutNotAnInteger, wire::kTimeoutNotAnInteger);
  if (timeout_ms < 0) reader.Fail(wire::kNegativeTimeout);
  const ClientPause::Scope scope = reader.ok() ? ReadScope(reader) : ClientPause::Scope::kNone;
  if (!reader.ok()) return context.Error(reader.error());

  const int64_t now_ms = context.server.clock->MonotonicMs();
  if (timeout_ms > std::numeric_limits<int64_t>::max() - now_ms) return context.Error(wire::kTimeoutNotAnInteger);
  context.server.clients->pause.Begin(scope, now_ms + timeout_ms, now_ms);
  context.reply.Ok();
}

void Unpause(ServerContext& context) {
  context.server.clients->pause.Cancel();
  context.reply.Ok();
}

void Reply(ServerContext& context) {
  using enum Session::Replies;
  Session::Replies& replies = context.session.replies;
  if (EqualsIgnoringCase(context.arguments[2], "ON")) {
    replies = kOn;
    context.reply.Ok();
  } else if (EqualsIgnoringCase(context.arguments[2], "OFF")) {
    replies = kOff;
  } else if (EqualsIgnoringCase(context.arguments[2], "SKIP")) {
    if (replies != kOff) replies = kSkipNext;
  } else {
    context.Error(wire::kSyntax);
  }
}

void NoEvict(ServerContext& context) {
  const bool on = EqualsIgnoringCase(context.arguments[2], "ON");
  if (!on && !EqualsIgnoringCase(context.arguments[2], "OFF")) return context.Error(wire::kSyntax);
  context.session.client->no_evict.store(on, std::memory_order_relaxed);
  context.reply.Ok();
}

void Tracking(ServerContext& context) {
  if (EqualsIgnoringCase(context.arguments[2], "OFF")) return context.reply.Ok();
  context.Error(EqualsIgnoringCase(context.arguments[2], "ON") ? wire::kNoTracking : wire::kSyntax);
}

// Each id is compared with each connection.
constexpr size_t kMaxKillArguments = 256;

constexpr CommandRow kSubcommands[] = {
    HelpRow("client|help", "5.0.0", CommandGroup::kConnection),
    {.name = "client|id",
     .arity = 2,
     .flags = kLoading,
     .group = CommandGroup::kConnection,
     .since = "5.0.0",
     .complexity = "O(1)",
     .summary = "Returns the ID of this connection. IDs are never reused.",
     .handler = On<Id>},
    {.name = "client|getname",
     .arity = 2,
     .flags = kLoading,
     .group = CommandGroup::kConnection,
     .since = "2.6.9",
     .complexity = "O(1)",
     .summary = "Returns the name of this connection, or nil.",
     .handler = On<GetName>},
    {.name = "client|setname",
     .arity = 3,
     .flags = kLoading,
     .group = CommandGroup::kConnection,
     .since = "2.6.9",
     .complexity = "O(1)",
     .summary = "Names this connection, for CLIENT LIST.",
     .syntax = "connection-name",
     .handler = On<SetName>},
    {.name = "client|setinfo",
     .arity = 4,
     .flags = kLoading,
     .group = CommandGroup::kConnection,
     .since = "7.2.0",
     .complexity = "O(1)",
     .summary = "Sets the client library's name or version, for CLIENT LIST.",
     .syntax = "<LIB-NAME libname | LIB-VER libver>",
     .handler = On<SetInfo>},
    {.name = "client|list",
     .arity = -2,
     .flags = kAdmin | kLoading,
     .group = CommandGroup::kConnection,
     .since = "2.4.0",
     .complexity = "O(connections)",
     .summary = "Returns one line of fields per connection.",
     .syntax = "[TYPE type] [ID client-id [client-id ...]]",
     .weigh = On<WeighClients>,
     .handler = On<List>},
    {.name = "client|info",
     .arity = 2,
     .flags = kLoading,
     .group = CommandGroup::kConnection,
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "Returns the line of CLIENT LIST about this connection.",
     .handler = On<Info>},
    {.name = "client|pause",
     .arity = -3,
     .max_arguments = 4,
     .flags = kAdmin | kLoading,
     .group = CommandGroup::kConnection,
     .since = "3.0.0",
     .complexity = "O(1)",
     .summary = "Delays the commands of all clients, or only those that write, for the given number of milliseconds.",
     .syntax = "timeout [WRITE | ALL]",
     .notes = "ALL is the default. The commands wait in their connections and run, in order, when the pause is over. A "
              "second pause can extend the first in time and scope, but never shorten it. With ALL every command "
              "waits, including CLIENT UNPAUSE and SHUTDOWN, as in Redis; with WRITE, PUBLISH waits as well, also when "
              "it is queued by MULTI. A signal that stops the server ends the pause.",
     .handler = On<Pause>},
    {.name = "client|unpause",
     .arity = 2,
     .flags = kAdmin | kLoading,
     .group = CommandGroup::kConnection,
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "Ends the pause of CLIENT PAUSE WRITE.",
     .notes = "During CLIENT PAUSE ALL, the command itself waits for the end of the pause, as in Redis.",
     .handler = On<Unpause>},
    {.name = "client|kill",
     .arity = -3,
     .max_arguments = kMaxKillArguments,
     .flags = kAdmin | kLoading,
     .group = CommandGroup::kConnection,
     .since = "2.4.0",
     .complexity = "O(connections)",
     .summary = "Closes the connection with an address, or all connections that meet the conditions.",
     .syntax = "[ip:port] [ID client-id] [ADDR ip:port] [LADDR ip:port] [TYPE type] [USER username] "
               "[SKIPME yes-or-no] [MAXAGE seconds]",
     .notes = "With only an address, the command returns OK, or an error if there is no such client. With conditions, "
              "which must all be met, it returns the number of connections that were closed. ID accepts several IDs. "
              "SKIPME is yes by default. Replies that a closed connection has not read are lost.",
     .handler = On<ClientKill>},
    {.name = "client|reply",
     .arity = 3,
     .flags = kNoMulti | kLoading,
     .group = CommandGroup::kConnection,
     .since = "3.2.0",
     .complexity = "O(1)",
     .summary = "Switches the replies of this connection on or off, or skips the next one.",
     .syntax = "<ON | OFF | SKIP>",
     .notes = "ON returns OK; OFF and SKIP return nothing. They suppress errors as well.",
     .handler = On<Reply>},
    {.name = "client|no-evict",
     .arity = 3,
     .flags = kAdmin | kLoading,
     .group = CommandGroup::kConnection,
     .since = "7.0.0",
     .complexity = "O(1)",
     .summary = "Exempts this connection from being closed because of maxmemory-clients.",
     .syntax = "<ON | OFF>",
     .handler = On<NoEvict>},
    {.name = "client|tracking",
     .arity = -3,
     .max_arguments = 64,
     .flags = kLoading,
     .group = CommandGroup::kConnection,
     .since = "6.0.0",
     .complexity = "O(1)",
     .summary = "Accepts OFF. Refuses ON, since there is nothing that a client could cache.",
     .syntax = "<ON | OFF>",
     .handler = On<Tracking>},
};

constexpr CommandRow kRows[] = {
    {.name = "client",
     .arity = -2,
     .group = CommandGroup::kConnection,
     .since = "2.4.0",
     .complexity = "that of the subcommand",
     .summary = "Commands about connections.",
     .subcommands = kSubcommands},
};

}  // namespace
}  // namespace client_commands

std::span<const CommandRow> ClientCommands() { return client_commands::kRows; }

}  // namespace bitsieve::server
