// OBJECT, ROLE, WAIT and WAITAOF: what tools ask about a name and about the server, answered as Redis does for one
// server without replicas.

#include <algorithm>
#include <limits>
#include <optional>

#include "server/commands/all_commands.h"
#include "server/commands/help.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/durability.h"
#include "server/session/client_list.h"

namespace bitsieve::server {

using namespace commands;

namespace object_commands {
namespace {

// Null without a filter of that name.
template <void (*answer)(ServerContext&, const core::Filter&)>
void OfFilter(ServerContext& context) {
  const FilterPtr filter = context.keyspace().Find(context.arguments[2]);
  if (filter == nullptr) return context.reply.Null();
  answer(context, *filter);
}

// Replies as Redis does for a value of a module.
void Encoding(ServerContext& context, const core::Filter&) { context.reply.BulkString("raw"); }

// Seconds since the last command about items; 0 if that is not known.
void IdleTime(ServerContext& context, const core::Filter& filter) {
  const std::optional<core::FilterUse> use = filter.Use();
  const int64_t now_s = context.server.clock->WallMs() / 1000;
  const bool is_known = use && use->last_unix_s != 0;
  context.reply.Integer(is_known ? std::max<int64_t>(0, now_s - use->last_unix_s) : 0);
}

void ReferenceCount(ServerContext& context, const core::Filter&) { context.reply.Integer(1); }

void Frequency(ServerContext& context, const core::Filter&) { context.Error(wire::kNoFrequencies); }

void Role(ServerContext& context) {
  context.reply.ArrayHeader(3);
  context.reply.BulkString("master");
  context.reply.Integer(0);
  context.reply.ArrayHeader(0);
}

void Wait(ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  reader.Integer(wire::kNotAnInteger, wire::kNotAnInteger);
  const int64_t timeout_ms = reader.Integer(wire::kTimeoutNotAnInteger, wire::kTimeoutNotAnInteger);
  if (timeout_ms < 0) reader.Fail(wire::kNegativeTimeout);
  if (!reader.ok()) return context.Error(reader.error());
  context.reply.Integer(0);
}

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
  return session.has_written || context.wrote ? context.server.durability->End() : 0;
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

constexpr KeyPositions kKey{2, 2, 1};

constexpr CommandRow ObjectRow(std::string_view name, std::string_view since, std::string_view summary,
                               Handler handler) {
  return {.name = name,
          .arity = 3,
          .flags = kReadOnly,
          .keys = kKey,
          .group = CommandGroup::kGeneric,
          .since = since,
          .complexity = "O(1)",
          .summary = summary,
          .syntax = "key",
          .handler = handler};
}

constexpr CommandRow kObjectSubcommands[] = {
    ObjectRow("object|encoding", "2.2.3",
              "Returns raw, as for every value of a module, or nil if there is no such filter.",
              On<OfFilter<Encoding>>),
    ObjectRow("object|freq", "4.0.0",
              "Returns an error, since accesses are not counted, or nil if there is no such filter.",
              On<OfFilter<Frequency>>),
    HelpRow("object|help", "6.2.0", CommandGroup::kGeneric),
    ObjectRow("object|idletime", "2.2.3",
              "Returns the seconds since the last command about items, or nil if there is no such filter. Returns 0 "
              "after a start, and for a filter that is a list of a few items, which does not record the time.",
              On<OfFilter<IdleTime>>),
    ObjectRow("object|refcount", "2.2.3", "Returns 1, or nil if there is no such filter.",
              On<OfFilter<ReferenceCount>>),
};

constexpr CommandRow kRows[] = {
    {.name = "object",
     .arity = -2,
     .group = CommandGroup::kGeneric,
     .since = "2.2.3",
     .complexity = "that of the subcommand",
     .summary = "Commands about the value of a key.",
     .subcommands = kObjectSubcommands},
    {.name = "role",
     .arity = 1,
     .flags = kFast | kLoading | kAdminCategory,
     .since = "2.8.12",
     .complexity = "O(1)",
     .summary = "Returns master, the replication offset 0 and an empty array: there are no replicas.",
     .handler = On<Role>},
    {.name = "wait",
     .arity = 3,
     .group = CommandGroup::kGeneric,
     .category = CommandGroup::kConnection,
     .since = "3.0.0",
     .complexity = "O(1)",
     .summary = "Returns 0 at once: the number of replicas that have received the changes of this connection.",
     .syntax = "numreplicas timeout",
     .handler = On<Wait>},
    {.name = "waitaof",
     .arity = 4,
     .group = CommandGroup::kGeneric,
     .category = CommandGroup::kConnection,
     .since = "7.2.0",
     .complexity = "O(1)",
     .summary = "Waits until the changes of this connection are synced to the disk. Returns two numbers: 1 or 0, "
                "whether they are, and 0 for the replicas.",
     .syntax = "numlocal numreplicas timeout",
     .notes =
         "numlocal is 1, or 0 to wait for nothing. The timeout is in milliseconds; 0 means none. There are no replicas "
         "to wait for. Within MULTI the command does not wait. It may also wait for changes of other connections. With "
         "appendfsync no, the server does not know what is synced, so the command waits for its timeout and returns 0.",
     .must_wait = On<MustWaitForSync>,
     .handler = On<WaitAof>},
};

}  // namespace
}  // namespace object_commands

std::span<const CommandRow> ObjectCommands() { return object_commands::kRows; }

}  // namespace bitsieve::server
