#include "server/dispatch/command_runner.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "commands/weigh.h"
#include "core/filter/image_pressure.h"
#include "server/dispatch/access.h"
#include "server/dispatch/aside.h"
#include "server/dispatch/command_guess.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/monitoring.h"
#include "server/dispatch/transaction.h"
#include "server/dispatch/wire_errors.h"
#include "server/pubsub/keyspace_events.h"
#include "server/session/client_list.h"
#include "server/session/durability.h"
#include "server/session/kept_arguments.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// A refused EXEC ends the transaction, and says why with a code of its own, as in Redis.
void RefuseExec(ServerContext& context, std::string_view error) {
  constexpr std::string_view kGeneralCode = "ERR ";
  EndTransaction(context.session);
  if (error.starts_with(kGeneralCode)) error.remove_prefix(kGeneralCode.size());
  context.Error(wire::ExecAborted(error));
}

// A refusal between MULTI and EXEC makes EXEC refuse as well.
bool Refuse(ServerContext& context, std::string_view error) {
  if (context.row != nullptr && context.row->name == "exec") {
    RefuseExec(context, error);
    return false;
  }
  if (context.session.in_multi) FailTransaction(context.session);
  context.Error(error);
  return false;
}

std::string SubcommandNames(const CommandRow& container) {
  std::string names;
  for (const CommandRow& row : container.subcommands) {
    if (!names.empty()) names += ", ";
    names += row.name.substr(container.name.size() + 1);
  }
  return names;
}

// Admission: small checks, in this order. Each replies itself when it refuses.

// A web page can make its reader's browser send a request to this port, and lines of its body would be commands. The
// connection is closed at the first line that shows it.
bool IsHttp(std::string_view name) { return EqualsIgnoringCase(name, "post") || EqualsIgnoringCase(name, "host:"); }

bool CheckKnown(ServerContext& context) {
  if (context.row == nullptr && IsHttp(context.arguments[0])) {
    context.session.abort = Session::Abort::kHttp;
    return false;
  }
  return context.row != nullptr || Refuse(context, UnknownCommandError(context.table(), context.arguments));
}

// Moves on from a container to its subcommand.
bool CheckSubcommand(ServerContext& context) {
  const CommandRow& container = *context.row;
  if (container.subcommands.empty() || context.arguments.size() < 2) return true;
  context.row = CommandTable::FindSubcommand(container, context.arguments[1]);
  return context.row != nullptr ||
         Refuse(context, wire::UnknownSubcommand(context.arguments[1], SubcommandNames(container)));
}

bool CheckArity(ServerContext& context) {
  return ArityFits(*context.row, context.arguments.size()) || Refuse(context, commands::ArityError(*context.row));
}

bool CheckAccess(ServerContext& context) {
  std::string error;
  return !context.restricted || MayRun(context, error) || Refuse(context, error);
}

// Commands that were queued before the client subscribed still run, as in Redis.
bool CheckSubscriber(ServerContext& context) {
  return !context.session.MaySendLittle() || context.session.executing != nullptr ||
         (context.row->flags & kWhileSubscribed) || Refuse(context, wire::NotWhileSubscribed(context.row->name));
}

bool CheckLoaded(ServerContext& context) {
  return !context.loading || (context.row->flags & kLoading) || Refuse(context, wire::kLoading);
}

bool CheckNames(ServerContext& context) {
  const KeyPositions& keys = context.row->keys;
  if (keys.first == 0 || !(context.row->flags & kWrite)) return true;
  const size_t most = context.settings().max_name_bytes.load(std::memory_order_relaxed);
  for (int i = keys.first; i <= LastOf(keys, context.arguments.size()); i += keys.step) {
    const std::string_view name = context.arguments[static_cast<size_t>(i)];
    if (name.size() <= most) continue;
    // One that was there before the limit was lowered stays, and can be used, renamed and deleted.
    const bool is_there = name.size() <= kMaxNameBytes && context.keyspace().Find(name) != nullptr;
    if (!is_there) return Refuse(context, wire::NameTooLong(name.size(), most));
  }
  return true;
}

// Refuses a change that could not be logged.
bool CheckLoggable(ServerContext& context) {
  if (!context.in_trouble || !(context.row->flags & kWrite)) return true;
  return Refuse(context, wire::CannotLog(context.server.durability->Trouble()));
}

bool CheckTransaction(ServerContext& context) {
  if (!context.session.in_multi || (context.row->flags & kRunsInMulti)) return true;
  if (context.row->flags & kNoMulti) return Refuse(context, wire::kNotInMulti);
  if (!QueueCommand(context)) return Refuse(context, wire::kQueueFull);
  context.session.queue_writes |= (context.row->flags & kWrite) != 0;
  context.session.queue_publishes |= (context.row->flags & kPublishes) != 0;
  context.reply.SimpleString("QUEUED");
  return false;
}

bool Admit(ServerContext& context) {
  return CheckKnown(context) && CheckSubcommand(context) && CheckArity(context) && CheckAccess(context) &&
         CheckSubscriber(context) && CheckLoaded(context) && CheckNames(context) && CheckLoggable(context) &&
         CheckTransaction(context);
}

bool MayWrite(const ServerContext& context) {
  const bool of_queue =
      context.row->name == "exec" && (context.session.queue_writes || context.session.queue_publishes);
  return (context.row->flags & (kWrite | kPublishes)) || of_queue;
}

// Whether admission would refuse it for what it is, or for who sends it, which it does at once.
bool IsMalformed(const ServerContext& context) {
  const CommandRow* row = context.row;
  if (!row->subcommands.empty() && context.arguments.size() >= 2) {
    row = CommandTable::FindSubcommand(*row, context.arguments[1]);
  }
  if (row == nullptr || !ArityFits(*row, context.arguments.size())) return true;
  const Session::Access& access = context.session.access;
  return context.restricted && !access.authenticated && !(row->flags & kNoAuth);
}

// Clients are paused. As in Redis, everything waits during CLIENT PAUSE ALL, CLIENT UNPAUSE included, and so does the
// queueing of commands by MULTI.
bool IsPaused(const ServerContext& context) {
  const ClientPause::Scope scope = context.server.clients->pause.ScopeAt(context.server.clock->MonotonicMs());
  if (scope == ClientPause::Scope::kNone || IsMalformed(context)) return false;
  return scope == ClientPause::Scope::kAll || MayWrite(context);
}

// Only the first of several names is that of a filter whose content changes.
bool ChangesImagedFilter(const ServerContext& context, const CommandRow& row, Arguments arguments) {
  if (!(row.flags & kWrite) || row.keys.first == 0 || row.group == CommandGroup::kGeneric) return false;
  const auto at = static_cast<size_t>(row.keys.first);
  const FilterPtr filter = at < arguments.size() ? context.server.keyspace->Find(arguments[at]) : nullptr;
  return filter != nullptr && core::ImagePressure::MustWait(*filter);
}

// A filter that it would change is being written to disk, and there is nearly no memory left to keep what changes.
bool IsAheadOfDisk(const ServerContext& context) {
  if (!core::ImagePressure::MayBeActive()) return false;
  if (ChangesImagedFilter(context, *context.row, context.arguments)) return true;
  if (context.row->name != "exec" || !context.session.queue_writes) return false;
  const auto& queued = context.session.queued;
  if (queued.size() > kManyArguments) return false;  // too many to ask about again and again: each waits on its own
  return std::any_of(queued.begin(), queued.end(), [&](const KeptArguments& command) {
    const CommandRow* const row = context.table().Find(command.get()[0]);
    return row != nullptr && ChangesImagedFilter(context, *row, command.get());
  });
}

// Whether the command may publish events while those of earlier changes that wait for subscribers take too much memory.
bool IsAheadOfEvents(const ServerContext& context) {
  const bool is_behind = context.server.events != nullptr && context.server.events->IsBehind();
  return is_behind && MayWrite(context) && !context.server.clients->draining.load(std::memory_order_relaxed);
}

// Runs the handler on this loop, or on a worker if it is heavy.
void RunHandler(ServerContext& context) {
  if (context.row->weigh != nullptr && context.MustBeQuick()) {
    if (const Weight weight = context.row->weigh(context); weight != Weight::kLight) return RunAside(context, weight);
  }
  context.outcome.wrote |= (context.row->flags & kWrite) != 0;
  commands::RunHandler(context);
}

// A quick command is timed together with those before and after it: reading the clock takes as long as the command.
bool IsTimedAlone(const ServerContext& context) {
  constexpr size_t kFewArguments = 4;
  return context.timed_alone || !(context.row->flags & kFast) || context.arguments.size() > kFewArguments;
}

// Shows the command to monitors, unless it is one for the operator, as in Redis.
void ShowToMonitors(const ServerContext& context) {
  if (context.row->flags & (kAdmin | kSkipMonitor)) return;
  context.server.monitoring->Show(*context.row, context.arguments, *context.session.client);
}

// Counts a refused command. A queued one was not admitted either, but only a refused one has added an error.
void CountRefused(const ServerContext& context, uint64_t errors) {
  if (context.row != nullptr && context.tally.errors != errors) context.timer->CountRejected(*context.row);
}

}  // namespace

bool MustWait(const ServerContext& context) {
  if (context.row == nullptr) return false;  // it is refused
  if (IsPaused(context)) return true;
  if (context.session.in_multi && !(context.row->flags & kRunsInMulti)) return false;  // it is queued
  const bool may_wait = context.row->must_wait != nullptr && context.session.executing == nullptr;
  return (may_wait && !IsMalformed(context) && context.row->must_wait(context)) || IsAheadOfDisk(context) ||
         IsAheadOfEvents(context);
}

void RunCommand(ServerContext& context) {
  ++context.tally.commands;
  const uint64_t errors = context.tally.errors;
  if (!Admit(context)) return CountRefused(context, errors);
  const CommandRow& row = *context.row;
  // Relaxed: see ClientRecord.
  context.session.client->last_command.store(row.name.data(), std::memory_order_relaxed);
  const Arguments arguments = context.arguments;
  if (context.monitored) [[unlikely]]
    ShowToMonitors(context);
  CommandTimer& timer = *context.timer;
  const bool alone = IsTimedAlone(context);
  const uint64_t begin = alone ? timer.BeginAlone() : timer.last();
  RunHandler(context);
  // Not if it is a command within EXEC that replies later.
  if (context.deferred() && context.row == &row) return timer.EndLater(row, begin, context.outcome.deferred);
  const uint64_t failed = context.tally.errors != errors ? 1 : 0;
  alone ? timer.EndAlone(row, arguments, begin, failed) : timer.CountShared(row, arguments, 1, failed);
}

}  // namespace bitsieve::server
