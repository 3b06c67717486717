#include "server/dispatch/transaction.h"

#include <memory>
#include <vector>

#include "server/dispatch/command_runner.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/monitoring.h"
#include "server/session/kept_arguments.h"
#include "server/session/turn.h"

namespace bitsieve::server {

using namespace commands;

namespace {

void UpdateQueued(Session& session) {
  const int32_t queued = session.in_multi ? static_cast<int32_t>(session.queued.size()) : -1;
  session.client->queued_commands.store(queued, std::memory_order_relaxed);
}

// Returns the least memory that queueing these arguments takes, in bytes.
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

// Monitors see EXEC after its commands, as in Redis.
void EndExecution(ServerContext& context) {
  if (context.monitored) {
    static constexpr std::string_view kExec[] = {"EXEC"};
    context.server.monitoring->Show(*context.table().Find(kExec[0]), kExec, *context.session.client);
  }
  context.session.executing.reset();
}

}  // namespace

void BeginTransaction(Session& session) {
  session.in_multi = true;
  UpdateQueued(session);
}

void ContinueExecution(ServerContext& context) {
  const std::shared_ptr<Execution> execution = context.session.executing;
  ArgumentBytes* const of_batch = context.bytes;
  for (size_t ran = 0; execution->next < execution->queued.size() && !context.deferred(); ++ran) {
    if (ran == Executor::kWindow) {
      context.Yield();
      break;
    }
    KeptArguments& command = execution->queued[execution->next];
    context.arguments = command.get();
    context.own_arguments = &command.own();
    context.bytes = &command;
    context.row = context.table().Find(context.arguments[0]);
    context.filter = nullptr;
    if (context.may_wait && MustWait(context)) {
      context.outcome.wait = Wait::kMoment;
      break;
    }
    ++execution->next;
    RunCommand(context);
    if (context.reply.exceeded()) break;  // the connection is about to be closed
    if (context.reply.size() >= kTurnBytes) ran = Executor::kWindow - 1;
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
  const KeptArguments& command = session.queued.emplace_back(context.KeepArguments());
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

}  // namespace bitsieve::server
