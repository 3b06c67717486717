// PING, HELLO and other commands about the connection itself. CLIENT is in client_commands.cc.

#include <memory>
#include <string>
#include <utility>

#include "commands/weigh.h"
#include "server/auth/access_log.h"
#include "server/commands/all_commands.h"
#include "server/commands/client_name.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/access.h"
#include "server/dispatch/transaction.h"
#include "server/metrics/server_identity.h"

namespace bitsieve::server {

using namespace commands;

namespace connection_commands {
namespace {

void Ping(ServerContext& context) {
  if (context.session.MaySendLittle()) {  // shaped as a message, as in Redis
    context.reply.ArrayHeader(2);
    context.reply.BulkString("pong");
    return context.reply.BulkString(context.arguments.size() == 1 ? std::string_view() : context.arguments[1]);
  }
  if (context.arguments.size() == 1) return context.reply.SimpleString("PONG");
  context.reply.BulkString(context.arguments[1]);
}

void Echo(ServerContext& context) { context.reply.BulkString(context.arguments[1]); }

void Quit(ServerContext& context) {
  context.reply.Ok();
  context.session.closing = true;
}

void SetVersion(ServerContext& context, protocol::ProtocolVersion version) {
  context.session.version = version;
  context.session.client->protocol_version.store(static_cast<uint8_t>(version), std::memory_order_relaxed);
  context.reply.set_version(version);
}

// Those that take long to end do so on a worker.
void EndSubscriptions(const ServerContext& context) {
  std::shared_ptr<Subscriptions> ended = std::move(context.session.subscriptions);
  if (ended == nullptr || !ended->IsLarge() || context.environment.workers == nullptr) return;
  ended->Close();
  context.environment.workers->Run(Weight::kMany, [ended = std::move(ended)] {});
}

void Reset(ServerContext& context) {
  EndTransaction(context.session);
  EndSubscriptions(context);
  context.session.client->monitors.store(false, std::memory_order_relaxed);
  context.session.client->channels.store(0, std::memory_order_relaxed);
  context.session.client->patterns.store(0, std::memory_order_relaxed);
  SetVersion(context, protocol::ProtocolVersion::kResp2);
  context.session.client->set_name({});
  context.session.client->no_evict.store(false, std::memory_order_relaxed);
  // CLIENT REPLY SKIP still holds for this reply, as in Redis.
  if (context.session.replies == Session::Replies::kOff) context.session.replies = Session::Replies::kOn;
  BeginAccess(context.session, context.server.users);
  context.session.client->set_user(kDefaultUser);
  context.restricted = context.session.access.restricted();
  context.reply.SimpleString("RESET");
}

void Select(ServerContext& context) {
  const std::optional<int64_t> index = ParseInteger(context.arguments[1]);
  if (!index) return context.Error(wire::kNotAnInteger);
  if (*index != 0) return context.Error(wire::kDatabaseRange);
  context.reply.Ok();
}

// The user, or null, and a wrong password is noted.
UserPtr Authenticate(const ServerContext& context, std::string_view name, std::string_view password) {
  UserPtr user = context.server.users->Authenticate(name, password);
  if (user == nullptr) RecordRefusal(context, AccessRefusal::Reason::kPassword, context.row->name, name);
  return user;
}

void Auth(ServerContext& context) {
  const bool has_name = context.arguments.size() == 3;
  if (!has_name && context.server.users->Default()->needs_password() == false) {
    return context.Error(wire::kNoPasswordConfigured);
  }
  UserPtr user = Authenticate(context, has_name ? context.arguments[1] : kDefaultUser, context.arguments.back());
  if (user == nullptr) return context.Error(wire::kWrongPassword);
  SetUser(context, std::move(user));
  context.reply.Ok();
}

struct HelloRequest {
  protocol::ProtocolVersion version;
  UserPtr user;  // null: as before
  std::optional<std::string_view> name;
};

protocol::ProtocolVersion ReadVersion(ArgumentReader& reader) {
  const int64_t version = reader.Integer(wire::kVersionNotAnInteger, wire::kVersionNotAnInteger);
  if (version != 2 && version != 3) reader.Fail(wire::kVersionUnsupported);
  return version == 3 ? protocol::ProtocolVersion::kResp3 : protocol::ProtocolVersion::kResp2;
}

HelloRequest ReadHello(const ServerContext& context, ArgumentReader& reader) {
  HelloRequest request{
      .version = reader.AtEnd() ? context.session.version : ReadVersion(reader), .user = nullptr, .name = {}};
  while (reader.More()) {
    const std::string_view option = reader.Next(wire::kSyntax);
    const std::string incomplete = wire::HelloOption(option);
    if (EqualsIgnoringCase(option, "AUTH")) {
      const std::string_view user = reader.Next(incomplete), password = reader.Next(incomplete);
      if (reader.ok()) request.user = Authenticate(context, user, password);
      if (reader.ok() && request.user == nullptr) reader.Fail(wire::kWrongPassword);
    } else if (EqualsIgnoringCase(option, "SETNAME")) {
      request.name = reader.Next(incomplete);
      if (reader.ok()) reader.Fail(ClientNameError(*request.name));
    } else {
      reader.Fail(incomplete);
    }
  }
  return request;
}

void Hello(ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  HelloRequest request = ReadHello(context, reader);
  if (!reader.ok()) return context.Error(reader.error());
  if (request.user != nullptr) SetUser(context, std::move(request.user));
  if (!context.session.access.authenticated) return context.Error(wire::kHelloNeedsAuth);

  if (request.name) context.session.client->set_name(*request.name);
  SetVersion(context, request.version);
  protocol::ReplyWriter& reply = context.reply;
  const auto text = [&reply](std::string_view key, std::string_view value) {
    reply.BulkString(key);
    reply.BulkString(value);
  };
  const auto number = [&reply](std::string_view key, int64_t value) {
    reply.BulkString(key);
    reply.Integer(value);
  };
  reply.MapHeader(7);
  text("server", kServerName);
  text("version", kRedisVersion);
  number("proto", static_cast<int64_t>(request.version));
  number("id", static_cast<int64_t>(context.session.client->id));
  text("mode", "standalone");
  text("role", "master");
  reply.BulkString("modules");
  WriteModuleList(reply);
}

constexpr CommandRow kRows[] = {
    {.name = "ping",
     .arity = -1,
     .max_arguments = 2,
     .flags = kFast | kWhileSubscribed,
     .preparation = Preparation::kNothing,
     .group = CommandGroup::kConnection,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Returns PONG, or the message.",
     .syntax = "[message]",
     .weigh = WeighArguments,
     .handler = On<Ping>},
    {.name = "echo",
     .arity = 2,
     .flags = kFast | kLoading,
     .preparation = Preparation::kNothing,
     .group = CommandGroup::kConnection,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Returns the message.",
     .syntax = "message",
     .weigh = WeighArguments,
     .handler = On<Echo>},
    {.name = "hello",
     .arity = -1,
     .flags = kSecret | kFast | kNoAuth | kLoading,
     .group = CommandGroup::kConnection,
     .since = "6.0.0",
     .complexity = "O(1)",
     .summary = "Selects the protocol version and returns a description of the server.",
     .syntax = "[protover] [AUTH username password] [SETNAME clientname]",
     .notes = "If the server requires a password, give it with AUTH, or in an earlier AUTH command.",
     .handler = On<Hello>},
    {.name = "auth",
     .arity = -2,
     .max_arguments = 3,
     .flags = kSecret | kFast | kNoAuth | kLoading,
     .group = CommandGroup::kConnection,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary =
         "Authenticates the client as a user, with the user's password. Without a username, the user is default.",
     .syntax = "[username] password",
     .notes = "If the user default needs no password, a password without a username is an error, as in Redis, so that "
              "a client that relies on the password notices. ACL SETUSER creates users; requirepass gives the user "
              "default a password.",
     .handler = On<Auth>},
    {.name = "select",
     .arity = 2,
     .flags = kFast | kLoading,
     .group = CommandGroup::kConnection,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Accepts database 0, the only one.",
     .syntax = "index",
     .handler = On<Select>},
    {.name = "quit",
     .arity = -1,
     .flags = kFast | kNoAuth | kRunsInMulti | kLoading | kWhileSubscribed,
     .group = CommandGroup::kConnection,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Returns OK and closes the connection.",
     .handler = On<Quit>},
    {.name = "reset",
     .arity = 1,
     .flags = kFast | kNoAuth | kRunsInMulti | kLoading | kWhileSubscribed,
     .group = CommandGroup::kConnection,
     .since = "6.2.0",
     .complexity = "O(1)",
     .summary = "Resets the connection to the state of a new one: no MULTI, no watched names, no subscriptions, no "
                "MONITOR, no name, RESP2, not authenticated, with replies.",
     .handler = On<Reset>},
};

}  // namespace
}  // namespace connection_commands

std::span<const CommandRow> ConnectionCommands() { return connection_commands::kRows; }

}  // namespace bitsieve::server
