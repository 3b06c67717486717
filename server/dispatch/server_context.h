// server_context.h: what handlers of the server's own commands work with: a CommandContext, and the session and the
// server around it. Confined to its loop.
#pragma once

#include <utility>
#include <vector>

#include "commands/command.h"
#include "server/dispatch/environment.h"
#include "server/keyspace/keyspace.h"
#include "server/pubsub/keyspace_events.h"
#include "server/session/command_batch.h"
#include "server/session/executor.h"
#include "server/session/session.h"
#include "server/stats/stats.h"

namespace bitsieve::server {

class CommandTable;
class CommandTimer;

struct ServerContext : commands::CommandContext {
  ServerContext(const Environment& of_server, Session& of_client, protocol::ReplyWriter& to_client)
      : CommandContext(of_server.filters, *of_server.keyspace, to_client), server(of_server), session(of_client) {
    events = of_server.events;
    error_counts = &of_server.loop_stats->error_codes;
  }

  const Environment& server;
  Session& session;
  CommandTimer* timer = nullptr;   // null on a worker
  Executor::Outcome outcome = {};  // of the batch so far

  // State at the beginning of the current window of commands.
  bool loading = false;
  bool in_trouble = false;   // the disk refuses what would be logged
  bool timed_alone = false;  // every command is, even a quick one
  bool monitored = false;    // MONITOR shows each command
  bool may_wait = false;     // some commands must not run now: MustWait() is called before each
  bool restricted = false;   // the client's user may not do everything: see access.h

  // Arguments of the command that runs now.
  ArgumentBytes* bytes = nullptr;  // can keep the arguments' bytes alive; null: they live as long as the batch
  std::vector<std::string_view>* own_arguments = nullptr;  // where `arguments` are, if they may be taken over

  const CommandTable& table() const { return *server.table; }
  Keyspace& keyspace() const { return *server.keyspace; }
  ServerControl& control() const { return *server.control; }

  // Returns whether the command runs on an event loop, and there are workers for commands that take longer than a turn.
  bool MustBeQuick() const { return !aside && environment.workers != nullptr; }

  // Whether a reply comes later.
  bool deferred() const { return outcome.wait == Wait::kReply; }
  // For a handler whose reply comes later. If that reply reports a change, it `wrote`; `kept_bytes` are those that the
  // command keeps until it has run.
  void Defer(DeferredReply start, bool wrote = false, size_t kept_bytes = 0) {
    outcome.wait = Wait::kReply;
    outcome.deferred = std::move(start);
    outcome.deferred_wrote = wrote;
    outcome.deferred_bytes = kept_bytes;
  }
  // Ends the batch after the command that runs now, unless it ends for another reason already.
  void Yield() {
    if (outcome.wait == Wait::kNothing) outcome.wait = Wait::kTurn;
  }

  // Returns the arguments of the command that runs now, which has none afterwards.
  KeptArguments KeepArguments() { return {arguments, bytes, own_arguments}; }
};

// Rows of the server's own commands name their handlers as On<Handler>: the dispatcher's context is a ServerContext.
template <void (*handler)(ServerContext&)>
void On(commands::CommandContext& context) {
  handler(static_cast<ServerContext&>(context));
}
template <commands::Weight (*weigher)(ServerContext&)>
commands::Weight On(commands::CommandContext& context) {
  return weigher(static_cast<ServerContext&>(context));
}
template <bool (*waiter)(const ServerContext&)>
bool On(const commands::CommandContext& context) {
  return waiter(static_cast<const ServerContext&>(context));
}

}  // namespace bitsieve::server
