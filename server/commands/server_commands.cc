// Commands to the operator: INFO, CONFIG, snapshots, SHUTDOWN.

#include <sys/time.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "commands/weigh.h"
#include "server/commands/all_commands.h"
#include "server/commands/check_pattern.h"
#include "server/commands/help.h"
#include "server/commands/weigh_server.h"
#include "server/commands/wire_errors.h"
#include "server/dispatch/server_control.h"
#include "server/metrics/info_report.h"
#include "server/metrics/metric_table.h"
#include "server/metrics/server_identity.h"

namespace bitsieve::server {

using namespace commands;

namespace server_commands {
namespace {

void Info(ServerContext& context) {
  server::Publish(context.tally, *context.server.loop_stats);  // so that it counts what this batch did so far
  context.reply.VerbatimText(InfoReport(context.server, context.arguments.subspan(1)));
}

Weight WeighInfo(ServerContext& context) {
  if (WeighArguments(context) != Weight::kLight) return Weight::kLarge;
  return VisitsAllFilters(context.arguments.subspan(1)) ? WeighNames(context) : Weight::kLight;
}

void ModuleList(ServerContext& context) { WriteModuleList(context.reply); }

void Time(ServerContext& context) {
  timeval now;
  gettimeofday(&now, nullptr);
  context.reply.ArrayHeader(2);
  context.reply.BulkString(std::to_string(now.tv_sec));
  context.reply.BulkString(std::to_string(now.tv_usec));
}

void LastSave(ServerContext& context) { context.reply.Integer(context.control().Snapshot().last_save_unix_s); }

void BackgroundSave(ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  reader.Skip("SCHEDULE");
  if (!reader.AtEnd()) return context.Error(wire::kSyntax);
  const bool behind_another = context.control().Snapshot().in_progress;
  context.control().Save([](const core::Status&) {});
  context.reply.SimpleString(behind_another ? "Background saving scheduled" : "Background saving started");
}

// The reply is OK or an error, once `begin` has called what it is given.
template <class Begin, class ErrorText>
void ReplyOnceDone(ServerContext& context, Begin begin, ErrorText error_text) {
  context.Defer([begin, error_text, stats = context.server.loop_stats](Finish finish) {
    begin([finish = std::move(finish), error_text, stats](core::Status status) {
      finish([status = std::move(status), error_text, stats](protocol::ReplyWriter& reply) {
        if (status) return reply.Ok();
        const std::string error = error_text(status.error().message);
        LoopStats::Add(stats->error_replies, 1);
        stats->error_codes.Count(error);
        reply.Error(error);
      });
    });
  });
}

void Save(ServerContext& context) {
  ReplyOnceDone(
      context, [&control = context.control()](auto done) { control.Save(std::move(done)); }, wire::SaveFailed);
}

// Whether to make a snapshot.
bool ReadShutdown(ArgumentReader& reader) {
  bool no_save = false, save = false;
  while (reader.More()) {
    if (reader.Skip("NOSAVE")) {
      no_save = true;
    } else if (reader.Skip("SAVE")) {
      save = true;
    } else if (!reader.Skip("NOW") && !reader.Skip("FORCE")) {
      reader.Fail(wire::kSyntax);
    }
  }
  if (no_save && save) reader.Fail(wire::kSyntax);
  return !no_save;
}

void Shutdown(ServerContext& context) {
  ArgumentReader reader(context.arguments, 1);
  if (reader.Skip("ABORT")) {
    // Once begun, a stop runs no further commands.
    return context.Error(reader.AtEnd() ? wire::kNoShutdown : wire::kSyntax);
  }
  const bool save = ReadShutdown(reader);
  if (!reader.ok()) return context.Error(reader.error());
  context.session.closing = true;  // no reply: the client sees the connection end, as with Redis
  context.control().Shutdown(save);
}

using NameAndValue = std::pair<std::string, std::string>;

void ConfigGet(ServerContext& context) {
  std::vector<NameAndValue> found;
  for (const std::string_view pattern : context.arguments.subspan(2)) {
    if (!CheckPattern(context, pattern)) return;
    for (NameAndValue& option : context.control().GetOptions(pattern)) {
      const bool listed =
          std::ranges::any_of(found, [&](const NameAndValue& other) { return other.first == option.first; });
      if (!listed) found.push_back(std::move(option));
    }
  }
  context.reply.MapHeader(found.size());
  for (const auto& [name, value] : found) {
    context.reply.BulkString(name);
    context.reply.BulkString(value);
  }
}

// Sets all pairs, or none.
void ConfigSet(ServerContext& context) {
  const Arguments words = context.arguments.subspan(2);
  if (words.size() % 2 != 0) return context.Error(wire::WrongArity(context.row->name));
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (size_t i = 0; i < words.size(); i += 2) pairs.emplace_back(words[i], words[i + 1]);
  const auto done = context.control().SetOptions(pairs);
  if (!done) return context.Error(wire::ConfigSetFailed(pairs[done.error().index].first, done.error().reason));
  context.reply.Ok();
}

void ConfigRewrite(ServerContext& context) {
  ReplyOnceDone(
      context, [&control = context.control()](auto done) { control.RewriteConfiguration(std::move(done)); },
      wire::ConfigRewriteFailed);
}

void ConfigResetStat(ServerContext& context) {
  context.tally = {};
  ResetCounters(context.server);
  context.reply.Ok();
}

constexpr CommandRow kConfigSubcommands[] = {
    HelpRow("config|help", "5.0.0"),
    {.name = "config|get",
     .arity = -3,
     .flags = kAdmin | kLoading,
     .since = "2.0.0",
     .complexity = "O(options * patterns)",
     .summary = "Returns the names and values of the options that match the patterns.",
     .syntax = "parameter [parameter ...]",
     .notes = "The command also knows RedisBloom's names of some options, and Redis's settings databases, "
              "maxmemory-policy and save, which follow from the options.",
     .weigh = WeighArguments,
     .handler = On<ConfigGet>},
    {.name = "config|set",
     .arity = -4,
     .flags = kAdmin | kSecret | kLoading,
     .since = "2.0.0",
     .complexity = "O(pairs)",
     .summary = "Sets options at run time. If one of them is refused, none is set.",
     .syntax = "parameter value [parameter value ...]",
     .notes = "The values are checked together, so their order does not matter.",
     .weigh = WeighArguments,
     .handler = On<ConfigSet>},
    {.name = "config|rewrite",
     .arity = 2,
     .flags = kAdmin | kNoMulti | kLoading,
     .since = "2.8.0",
     .complexity = "O(bytes of the file)",
     .summary = "Writes the values that CONFIG SET changed into the configuration file.",
     .notes = "Existing values are replaced in place and new ones are added at the end, so comments, order and layout "
              "stay. Values that were not set at run time are not changed. The command fails if the server was started "
              "without a file.",
     .handler = On<ConfigRewrite>},
    {.name = "config|resetstat",
     .arity = 2,
     .flags = kAdmin | kLoading,
     .since = "2.0.0",
     .complexity = "O(1)",
     .summary = "Sets the counters of INFO back to 0.",
     .handler = On<ConfigResetStat>},
};

constexpr CommandRow kModuleSubcommands[] = {
    HelpRow("module|help", "5.0.0"),
    {.name = "module|list",
     .arity = 2,
     .flags = kAdmin,
     .since = "4.0.0",
     .complexity = "O(1)",
     .summary = "Returns what a server with RedisBloom returns, so that clients find BF.*.",
     .handler = On<ModuleList>},
};

constexpr CommandRow kRows[] = {
    {.name = "info",
     .arity = -1,
     .flags = kLoading | kDangerous,
     .since = "1.0.0",
     .complexity = "O(1); of the section bf O(sub-filters of all filters)",
     .summary = "Returns figures about the server, as lines of text.",
     .syntax = "[section [section ...]]",
     .notes = "Without an argument, or with default, the reply has the sections server, clients, memory, persistence, "
              "stats, replication, cpu, modules, errorstats, cluster, keyspace and quotas. The argument all adds "
              "commandstats and latencystats. The section bf describes all filters together; the arguments modules and "
              "everything show it. [Metrics](metrics.md) lists the fields.",
     .weigh = On<WeighInfo>,
     .handler = On<Info>},
    {.name = "config",
     .arity = -2,
     .since = "2.0.0",
     .complexity = "that of the subcommand",
     .summary = "Commands about the options.",
     .subcommands = kConfigSubcommands},
    {.name = "module",
     .arity = -2,
     .since = "4.0.0",
     .complexity = "that of the subcommand",
     .summary = "Commands about modules.",
     .subcommands = kModuleSubcommands},
    {.name = "save",
     .arity = 1,
     .flags = kAdmin | kNoMulti,
     .since = "1.0.0",
     .complexity = "O(bytes of what changed)",
     .summary = "Makes a snapshot and returns when it is on disk. Other connections are served during it.",
     .handler = On<Save>},
    {.name = "bgsave",
     .arity = -1,
     .max_arguments = 2,
     .flags = kAdmin,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Starts a snapshot and returns at once.",
     .syntax = "[SCHEDULE]",
     .notes = "If a snapshot is running, another one follows it, with SCHEDULE or without.",
     .handler = On<BackgroundSave>},
    {.name = "lastsave",
     .arity = 1,
     .flags = kFast | kLoading | kAdminCategory,
     .since = "1.0.0",
     .complexity = "O(1)",
     .summary = "Returns the Unix time of the last complete snapshot.",
     .handler = On<LastSave>},
    {.name = "time",
     .arity = 1,
     .flags = kFast | kLoading,
     .since = "2.6.0",
     .complexity = "O(1)",
     .summary = "Returns the Unix time of the server: the seconds, and the microseconds into the second.",
     .handler = On<Time>},
    {.name = "shutdown",
     .arity = -1,
     .max_arguments = 4,
     .flags = kAdmin | kNoMulti | kLoading,
     .since = "1.0.0",
     .complexity = "O(bytes of what changed), with a snapshot",
     .summary = "Stops the server, after a snapshot unless NOSAVE.",
     .syntax = "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
     .notes =
         "NOW and FORCE have no effect: there are no replicas to wait for, and a failed snapshot does not stop the "
         "shutdown. ABORT, which must be the only argument, is an error: a shutdown that has begun cannot be undone.",
     .handler = On<Shutdown>},
};

}  // namespace
}  // namespace server_commands

std::span<const CommandRow> ServerCommands() { return server_commands::kRows; }

}  // namespace bitsieve::server
