// MULTI, EXEC and DISCARD, and their queue.

#include <algorithm>
#include <utility>

#include "commands/wire_errors.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/claims.h"
#include "server/dispatch/command_runner.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/kept_arguments.h"
#include "server/dispatch/monitoring.h"
#include "server/dispatch/transaction.h"
#include "server/namespace.h"

namespace bitsieve::server {
namespace {

void UpdateQueued(Session& session) {
  const int32_t queued = session.in_multi ? static_cast<int32_t>(session.queued.size()) : -1;
  session.client->queued_commands.store(queued, std::memory_order_relaxed);
}

// What a command would take at least.
size_t LeastQueuedBytes(Arguments arguments) {
  size_t bytes = sizeof(KeptArguments);
  for (const std::string_view argument : arguments) bytes += sizeof(std::string_view) + argument.size();
  return bytes;
}

void LetGoOfQueue(Session& session) {
  std::vector<KeptArguments>().swap(session.queued);
  session.queued_bytes = 0;
  session.queue_writes = false;
  session.queue_publishes = false;
}

void Multi(ServerContext& context) {
  if (context.session.in_multi) return context.Error(wire::kNestedMulti);
  context.session.in_multi = true;
  UpdateQueued(context.session);
  context.reply.Ok();
}

void Discard(ServerContext& context) {
  if (!context.session.in_multi) return context.Error(wire::kDiscardWithoutMulti);
  EndTransaction(context.session);
  context.reply.Ok();
}

bool Writes(const CommandTable& table, const std::vector<KeptArguments>& queued) {
  return std::ranges::any_of(
      queued, [&](const KeptArguments& command) { return table.Find(command.get()[0])->flags & kWrite; });
}

Claims::Slots SlotsOf(const CommandTable& table, const Session& session) {
  Claims::Slots slots;
  session.watches.ForEach([&](std::string_view name) { slots.set(Claims::SlotOf(name)); });
  for (const KeptArguments& command : session.queued) {
    const Arguments arguments = command.get();
    const KeyPositions& keys = table.Find(arguments[0])->keys;
    if (keys.first == 0) continue;
    for (int i = keys.first; i <= LastOf(keys, arguments.size()); i += keys.step) {
      slots.set(Claims::SlotOf(arguments[static_cast<size_t>(i)]));
    }
  }
  return slots;
}

// False if a watched name was touched, or if another transaction may be about to touch what this one is about. No
// other transaction does as long as `claim` lives.
bool WatchesHold(const ServerContext& context, Claims::Held& claim) {
  const Session& session = context.session;
  if (session.watches.empty()) return true;
  if (Claims* const claims = context.server.claims; claims != nullptr) {
    claim = claims->TryTake(SlotsOf(context.table(), session));
    if (!claim) return false;
  }
  return !session.watches.Touched(context.keyspace());
}

void Exec(ServerContext& context) {
  Session& session = context.session;
  if (!session.in_multi) return context.Error(wire::kExecWithoutMulti);
  const bool failed = session.multi_failed;
  Claims::Held claim;
  const bool watches_hold = failed || WatchesHold(context, claim);
  std::vector<KeptArguments> queued = std::exchange(session.queued, {});
  const size_t queued_bytes = session.queued_bytes;
  EndTransaction(session);
  if (failed) return context.Error(wire::kExecAborted);
  if (!watches_hold) return context.reply.NullArray();
  // All or nothing, also if it is since they were queued that nothing can be logged.
  if (context.in_trouble && Writes(context.table(), queued)) {
    return context.Error(wire::ExecAborted(wire::CannotLog(context.server.durability->Trouble())));
  }
  context.reply.ArrayHeader(queued.size());
  session.executing = std::make_shared<Execution>(std::move(queued), std::move(claim));
  session.executing->bytes = queued_bytes;
  ContinueExecution(context);
}

// Monitors see EXEC after its commands, as in Redis.
void EndExecution(ServerContext& context) {
  if (context.monitored) {
    static constexpr std::string_view kExec[] = {"EXEC"};
    context.server.monitoring->Show(*context.table().Find(kExec[0]), kExec, *context.session.client);
  }
  context.session.executing.reset();
}

constexpr CommandRow kRows[] = {
    {.name = "multi",
     .arity = 1,
     .flags = kFast | kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "1.2.0",
     .complexity = "O(1)",
     .summary = "Queues the commands that follow, until EXEC runs them or DISCARD forgets them.",
     .handler = On<Multi>},
    {.name = "exec",
     .arity = 1,
     .flags = kSkipMonitor | kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "1.2.0",
     .complexity = "that of the queued commands",
     .summary = "Runs the queued commands and replies with an array of their replies.",
     .notes =
         "The commands run in order, none of this connection between them. Null, and nothing is run, if a name that "
         "WATCH was given was touched, or if at this moment another transaction runs that watches names and is "
         "about one of the same names. So of transactions that watch what they read, two never overlap. Commands "
         "that other connections send outside of such transactions may run between the queued ones, with one "
         "event loop as well as with several, and between the look at the watched names and the first of them.",
     .handler = On<Exec>},
    {.name = "discard",
     .arity = 1,
     .flags = kFast | kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "2.0.0",
     .complexity = "O(N) in the queued commands",
     .summary = "Forgets the queued commands and the watched names.",
     .handler = On<Discard>},
};

}  // namespace

void ContinueExecution(ServerContext& context) {
  const std::shared_ptr<Execution> execution = context.session.executing;
  ArgumentBytes* const of_batch = context.bytes;
  for (size_t ran = 0; execution->next < execution->queued.size() && !context.deferred; ++ran) {
    if (ran == Dispatcher::kWindow) {
      context.yielded = true;
      break;
    }
    KeptArguments& command = execution->queued[execution->next];
    context.arguments = command.get();
    context.own_arguments = &command.own();
    context.bytes = &command;
    context.row = context.table().Find(context.arguments[0]);
    context.filter = nullptr;
    context.postponed = context.may_wait && MustWait(context);
    if (context.postponed) break;
    ++execution->next;
    RunCommand(context);
    if (context.reply.exceeded()) break;  // the connection is about to be closed
    if (context.reply.size() >= kTurnBytes && !context.deferred) ran = Dispatcher::kWindow - 1;
  }
  context.arguments = {};
  context.own_arguments = nullptr;
  context.bytes = of_batch;
  context.timer->EndShared();  // while the commands' arguments are there
  if (execution->next == execution->queued.size()) EndExecution(context);
}

bool QueueCommand(ServerContext& context) {
  Session& session = context.session;
  if (session.multi_failed) return true;  // EXEC will run nothing: there is no sense in keeping it
  const size_t limit = context.settings().max_queued_bytes.load(std::memory_order_relaxed);
  if (session.queued_bytes + LeastQueuedBytes(context.arguments) > limit) return false;
  const KeptArguments& command = session.queued.emplace_back(context);
  if (session.queued_bytes + command.memory_bytes() > limit) return false;
  session.queued_bytes += command.memory_bytes();
  UpdateQueued(session);
  return true;
}

void FailTransaction(Session& session) {
  session.multi_failed = true;
  LetGoOfQueue(session);
}

void EndTransaction(Session& session) {
  session.in_multi = false;
  session.multi_failed = false;
  session.watches.Clear();
  session.client->watched_names.store(0, std::memory_order_relaxed);
  LetGoOfQueue(session);
  UpdateQueued(session);
}

std::span<const CommandRow> TransactionCommands() { return kRows; }

}  // namespace bitsieve::server
