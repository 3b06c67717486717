// MULTI, EXEC and DISCARD.

#include <algorithm>
#include <utility>

#include "server/commands/all_commands.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/monitoring.h"
#include "server/dispatch/transaction.h"
#include "server/session/claims.h"
#include "server/session/durability.h"
#include "server/session/kept_arguments.h"

namespace bitsieve::server {

using namespace commands;

namespace transaction_commands {
namespace {

void Multi(ServerContext& context) {
  if (context.session.in_multi) return context.Error(wire::kNestedMulti);
  BeginTransaction(context.session);
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

constexpr CommandRow kRows[] = {
    {.name = "multi",
     .arity = 1,
     .flags = kFast | kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "1.2.0",
     .complexity = "O(1)",
     .summary = "Queues the commands that follow, until EXEC runs them or DISCARD drops them.",
     .handler = On<Multi>},
    {.name = "exec",
     .arity = 1,
     .flags = kSkipMonitor | kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "1.2.0",
     .complexity = "that of the queued commands",
     .summary = "Runs the queued commands. Returns an array of their replies.",
     .notes = "The commands run in order, with no other command of this connection between them. Returns nil and runs "
              "nothing if a watched name was touched, or if another transaction that watches names and uses one of the "
              "same names is running at this moment. Therefore two transactions that watch what they read never "
              "overlap. Commands that other connections send outside of such transactions may run between the queued "
              "ones, and between the check of the watched names and the first queued command, with one event loop as "
              "well as with several.",
     .handler = On<Exec>},
    {.name = "discard",
     .arity = 1,
     .flags = kFast | kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "2.0.0",
     .complexity = "O(N) in the queued commands",
     .summary = "Drops the queued commands and the watched names.",
     .handler = On<Discard>},
};

}  // namespace
}  // namespace transaction_commands

std::span<const CommandRow> TransactionCommands() { return transaction_commands::kRows; }

}  // namespace bitsieve::server
