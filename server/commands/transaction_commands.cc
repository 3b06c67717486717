// MULTI, EXEC and DISCARD, and the queue behind them.

#include <algorithm>
#include <utility>

#include "server/commands/command_families.h"
#include "server/commands/command_runner.h"
#include "server/commands/command_table.h"
#include "server/commands/transaction.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {
namespace {

void TellQueued(Session& session) {
  const int32_t queued = session.in_multi ? static_cast<int32_t>(session.queued.size()) : -1;
  session.client->queued_commands.store(queued, std::memory_order_relaxed);
}

// Bytes a queued command takes, bookkeeping included: an empty argument is not free.
size_t QueuedBytes(Arguments arguments) {
  size_t bytes = sizeof(std::vector<std::string>);
  for (const std::string_view argument : arguments) bytes += sizeof(std::string) + argument.size() + 1;
  return bytes;
}

void LetGoOfQueue(Session& session) {
  std::vector<std::vector<std::string>>().swap(session.queued);
  session.queued_bytes = 0;
}

void Multi(CommandContext& context) {
  if (context.session.in_multi) return context.Error(wire::kNestedMulti);
  context.session.in_multi = true;
  TellQueued(context.session);
  context.reply.Ok();
}

void Discard(CommandContext& context) {
  if (!context.session.in_multi) return context.Error(wire::kDiscardWithoutMulti);
  EndTransaction(context.session);
  context.reply.Ok();
}

bool Writes(const CommandTable& table, const std::vector<std::vector<std::string>>& queued) {
  return std::ranges::any_of(queued, [&](const auto& command) { return table.Find(command[0])->flags & kWrite; });
}

void RunQueued(CommandContext& context, const std::vector<std::vector<std::string>>& queued) {
  std::vector<std::string_view> arguments;
  context.reply.ArrayHeader(queued.size());
  for (const std::vector<std::string>& command : queued) {
    arguments.assign(command.begin(), command.end());
    context.arguments = arguments;
    context.row = context.table.Find(arguments[0]);
    context.filter = nullptr;
    RunCommand(context);
  }
  context.arguments = {};
}

void Exec(CommandContext& context) {
  Session& session = context.session;
  if (!session.in_multi) return context.Error(wire::kExecWithoutMulti);
  const bool failed = session.multi_failed;
  const std::vector<std::vector<std::string>> queued = std::exchange(session.queued, {});
  EndTransaction(session);
  if (failed) return context.Error(wire::kExecAborted);
  // All or nothing, also if it is since they were queued that nothing can be logged.
  if (context.in_trouble && Writes(context.table, queued)) {
    return context.Error(wire::ExecAborted(wire::CannotLog(context.environment.durability->Trouble())));
  }
  RunQueued(context, queued);
}

constexpr CommandRow kRows[] = {
    {.name = "multi",
     .arity = 1,
     .flags = kFast | kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "1.2.0",
     .complexity = "O(1)",
     .summary = "Queues the commands that follow, until EXEC runs them or DISCARD forgets them.",
     .handler = Multi},
    {.name = "exec",
     .arity = 1,
     .flags = kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "1.2.0",
     .complexity = "that of the queued commands",
     .summary = "Runs the queued commands and replies with an array of their replies.",
     .notes = "The commands run in order, none of this connection between them. Commands of other connections may run "
              "between them: a transaction is not isolated, and there is no WATCH.",
     .handler = Exec},
    {.name = "discard",
     .arity = 1,
     .flags = kFast | kRunsInMulti | kLoading,
     .group = CommandGroup::kTransactions,
     .since = "2.0.0",
     .complexity = "O(N) in the queued commands",
     .summary = "Forgets the queued commands.",
     .handler = Discard},
};

}  // namespace

bool QueueCommand(Session& session, Arguments arguments, const CommandSettings& settings) {
  if (session.multi_failed) return true;  // EXEC will run nothing: there is no sense in keeping it
  const size_t bytes = session.queued_bytes + QueuedBytes(arguments);
  if (bytes > settings.max_queued_bytes.load(std::memory_order_relaxed)) return false;
  session.queued.emplace_back(arguments.begin(), arguments.end());
  session.queued_bytes = bytes;
  TellQueued(session);
  return true;
}

void FailTransaction(Session& session) {
  session.multi_failed = true;
  LetGoOfQueue(session);
}

void EndTransaction(Session& session) {
  session.in_multi = false;
  session.multi_failed = false;
  LetGoOfQueue(session);
  TellQueued(session);
}

std::span<const CommandRow> TransactionCommands() { return kRows; }

}  // namespace bitsieve::server
