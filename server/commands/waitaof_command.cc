// WAITAOF: waits until the changes of a connection are on the disk.

#include <limits>
#include <optional>

#include "server/commands/all_commands.h"
#include "server/commands/wire_errors.h"
#include "server/session/client_list.h"
#include "server/session/durability.h"

namespace bitsieve::server {

using namespace commands;

namespace waitaof_command {
namespace {

struct WaitAofRequest {
  bool local = false;
  int64_t timeout_ms = 0;
};

WaitAofRequest ReadWaitAof(ArgumentReader& reader) {
  const int64_t local = reader.Integer(wire::kNotAnInteger, wire::kNotAnInteger);
  if (local < 0 || local > 1) reader.Fail(wire::kLocalAcksRange);
  if (reader.Integer(wire::kNotPositive, wire::kNotPositive) < 0) reader.Fail(wire::kNotPositive);
  const int64_t timeout_ms = reader.Integer(wire::kTimeoutNotAnInteger, wire::kTimeoutNotAnInteger);
  if (timeout_ms < 0) reader.Fail(wire::kNegativeTimeout);
  return {local != 0, timeout_ms};
}

bool HasLog(const ServerContext& context) {
  return context.server.durability != nullptr && context.server.durability->HasLog();
}

// Where the log ended after the last change of this connection; further, if others have changed something since.
uint64_t PositionToSync(const ServerContext& context) {
  const Session& session = context.session;
  if (session.sync_wait) return session.sync_wait->position;
  return session.has_written || context.outcome.wrote ? context.server.durability->End() : 0;
}

int64_t Deadline(int64_t now_ms, int64_t timeout_ms) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  return timeout_ms == 0 || timeout_ms > kNever - now_ms ? kNever : now_ms + timeout_ms;
}

bool MustWaitForSync(const ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  const WaitAofRequest request = ReadWaitAof(reader);
  if (!reader.ok() || !request.local || !HasLog(context)) return false;
  const uint64_t position = PositionToSync(context);
  if (context.server.durability->IsSynced(position) || context.server.clients->draining) return false;
  std::optional<Session::SyncWait>& wait = context.session.sync_wait;
  const int64_t now_ms = context.server.clock->MonotonicMs();
  if (!wait) wait = {position, Deadline(now_ms, request.timeout_ms)};
  return now_ms < wait->until_ms;
}

void WaitAof(ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  const WaitAofRequest request = ReadWaitAof(reader);
  if (!reader.ok()) return context.Error(reader.error());
  if (request.local && !HasLog(context)) return context.Error(wire::kWaitAofWithoutLog);
  const bool synced = HasLog(context) && context.server.durability->IsSynced(PositionToSync(context));
  context.session.sync_wait.reset();
  context.reply.ArrayHeader(2);
  context.reply.Integer(synced ? 1 : 0);
  context.reply.Integer(0);
}

constexpr CommandRow kRows[] = {
    {.name = "waitaof",
     .arity = 4,
     .group = CommandGroup::kGeneric,
     .category = CommandGroup::kConnection,
     .since = "7.2.0",
     .complexity = "O(1)",
     .summary = "Waits until the changes of this connection are synced to the disk. Returns two numbers: 1 or 0, "
                "whether they are, and 0 for the replicas.",
     .syntax = "numlocal numreplicas timeout",
     .notes = "numlocal is 1, or 0 to wait for nothing. The timeout is in milliseconds; 0 means none. There are no "
              "replicas, and none is waited for. Within MULTI it does not wait. It may wait for changes of other "
              "connections as well. With appendfsync no, nothing is known to be synced: the command waits for its "
              "timeout and returns 0.",
     .must_wait = On<MustWaitForSync>,
     .handler = On<WaitAof>},
};

}  // namespace
}  // namespace waitaof_command

std::span<const CommandRow> WaitAofCommand() { return waitaof_command::kRows; }

}  // namespace bitsieve::server
