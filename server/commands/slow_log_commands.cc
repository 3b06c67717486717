// SLOWLOG and MONITOR: single commands, those that took long or all.

#include <algorithm>
#include <limits>

#include "server/commands/all_commands.h"
#include "server/commands/help.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/monitoring.h"

namespace bitsieve::server {

using namespace commands;

namespace slow_log_commands {
namespace {

SlowLog& LogOf(const ServerContext& context) { return context.server.monitoring->slow_log; }

constexpr size_t kUsualCount = 10;

// All for -1.
size_t ReadCount(ArgumentReader& reader) {
  if (reader.AtEnd()) return kUsualCount;
  const int64_t count = reader.Integer(wire::kNotAnInteger, wire::kSlowLogCount);
  if (count < -1) reader.Fail(wire::kSlowLogCount);
  return count < 0 ? std::numeric_limits<size_t>::max() : static_cast<size_t>(count);
}

void Get(ServerContext& context) {
  ArgumentReader reader(context.arguments, 2);
  const size_t count = ReadCount(reader);
  if (!reader.ok()) return context.Error(reader.error());
  const std::vector<SlowCommand> commands = LogOf(context).Newest(count);
  protocol::ReplyWriter& reply = context.reply;
  reply.ArrayHeader(commands.size());
  for (const SlowCommand& command : commands) {
    reply.ArrayHeader(6);
    reply.Integer(static_cast<int64_t>(command.id));
    reply.Integer(command.unix_s);
    reply.Integer(static_cast<int64_t>(command.us));
    reply.ArrayHeader(command.arguments.size());
    for (const std::string& argument : command.arguments) reply.BulkString(argument);
    reply.BulkString(command.client_address);
    reply.BulkString(command.client_name);
  }
}

// An entry takes some microseconds.
Weight WeighGet(ServerContext& context) {
  constexpr size_t kManyEntries = 256;
  ArgumentReader reader(context.arguments, 2);
  const size_t count = ReadCount(reader);
  return reader.ok() && std::min(count, LogOf(context).Size()) > kManyEntries ? Weight::kMany : Weight::kLight;
}

void Length(ServerContext& context) { context.reply.Integer(static_cast<int64_t>(LogOf(context).Size())); }

void Reset(ServerContext& context) {
  LogOf(context).Clear();
  context.reply.Ok();
}

void Monitor(ServerContext& context) {
  Session& session = context.session;
  if (session.subscriptions == nullptr) {
    session.subscriptions = std::make_unique<Subscriptions>(*context.server.pub_sub, session.wakeable);
  }
  session.subscriptions->Monitor(context.server.monitoring->feed);
  session.client->monitors.store(true, std::memory_order_relaxed);
  context.reply.Ok();
}

constexpr CommandRow kSlowLogSubcommands[] = {
    {.name = "slowlog|get",
     .arity = -2,
     .max_arguments = 3,
     .flags = kAdmin | kLoading,
     .since = "2.2.12",
     .complexity = "O(entries)",
     .summary = "Returns the newest slow commands, each with its number, Unix time, microseconds, arguments, client "
                "address and client name.",
     .syntax = "[count]",
     .notes =
         "Without a count, the command returns 10 entries; with -1, all. At most 32 arguments are kept, and 128 bytes "
         "of each; passwords are not kept. Quick commands of a pipeline are timed together: the entry shows the first "
         "of them and the time of all, and its last argument says how many more there were. If slowlog-log-slower-than "
         "is below 1000, each is timed separately. The time of a command that a worker runs ends with its reply.",
     .weigh = On<WeighGet>,
     .handler = On<Get>},
    HelpRow("slowlog|help", "6.2.0"),
    {.name = "slowlog|len",
     .arity = 2,
     .flags = kAdmin | kLoading,
     .since = "2.2.12",
     .complexity = "O(1)",
     .summary = "Returns the number of recorded slow commands, at most slowlog-max-len.",
     .handler = On<Length>},
    {.name = "slowlog|reset",
     .arity = 2,
     .flags = kAdmin | kLoading,
     .since = "2.2.12",
     .complexity = "O(entries)",
     .summary = "Drops all entries.",
     .handler = On<Reset>},
};

constexpr CommandRow kRows[] = {
    {.name = "slowlog",
     .arity = -2,
     .since = "2.2.12",
     .complexity = "that of the subcommand",
     .summary = "Commands that took longer than slowlog-log-slower-than.",
     .subcommands = kSlowLogSubcommands},
    {.name = "monitor",
     .arity = 1,
     .flags = kAdmin | kNoMulti | kLoading,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Shows this connection every command that any client runs, one per line, until RESET or QUIT.",
     .notes =
         "As in Redis, a line contains the Unix time, the client and the arguments in quotes: at most 128 arguments, "
         "and 1024 bytes of each. Admin commands and passwords are not shown; commands of a transaction are shown when "
         "they run. While there is a monitor, quick commands run one by one, which takes about twice as long. A "
         "monitor is closed if the bytes that it has not read exceed client-output-buffer-limit.",
     .handler = On<Monitor>},
};

}  // namespace
}  // namespace slow_log_commands

std::span<const CommandRow> SlowLogCommands() { return slow_log_commands::kRows; }

}  // namespace bitsieve::server
