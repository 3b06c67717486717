// LATENCY: what took longer than latency-monitor-threshold, and how long commands take.

#include <string>
#include <vector>

#include "commands/weigh.h"
#include "server/commands/all_commands.h"
#include "server/commands/help.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/monitoring.h"
#include "server/stats/command_stats.h"

namespace bitsieve::server {

using namespace commands;

namespace latency_commands {
namespace {

LatencyMonitor& MonitorOf(const ServerContext& context) { return context.server.monitoring->latency; }

void WriteSample(protocol::ReplyWriter& reply, const LatencyMonitor::Sample& sample) {
  reply.Integer(sample.unix_s);
  reply.Integer(static_cast<int64_t>(sample.ms));
}

void Latest(ServerContext& context) {
  std::vector<std::pair<std::string_view, LatencyMonitor::History>> found;
  for (size_t i = 0; i < kLatencyEvents; ++i) {
    LatencyMonitor::History history = MonitorOf(context).Of(static_cast<LatencyEvent>(i));
    if (!history.samples.empty()) found.emplace_back(LatencyMonitor::kNames[i], std::move(history));
  }
  context.reply.ArrayHeader(found.size());
  for (const auto& [name, history] : found) {
    context.reply.ArrayHeader(4);
    context.reply.BulkString(name);
    WriteSample(context.reply, history.samples.back());
    context.reply.Integer(static_cast<int64_t>(history.longest_ms));
  }
}

// An unknown event has an empty history, as in Redis.
void History(ServerContext& context) {
  const std::optional<LatencyEvent> event = LatencyMonitor::Find(context.arguments[2]);
  const LatencyMonitor::History history = event ? MonitorOf(context).Of(*event) : LatencyMonitor::History();
  context.reply.ArrayHeader(history.samples.size());
  for (const LatencyMonitor::Sample& sample : history.samples) {
    context.reply.ArrayHeader(2);
    WriteSample(context.reply, sample);
  }
}

void Reset(ServerContext& context) {
  const Arguments names = context.arguments.subspan(2);
  int64_t reset = 0;
  for (const std::string_view name : names) {
    const std::optional<LatencyEvent> event = LatencyMonitor::Find(name);
    reset += event && MonitorOf(context).Reset(*event) ? 1 : 0;
  }
  for (size_t i = 0; names.empty() && i < kLatencyEvents; ++i) {
    reset += MonitorOf(context).Reset(static_cast<LatencyEvent>(i)) ? 1 : 0;
  }
  context.reply.Integer(reset);
}

// Advice on what to look at, by event.
constexpr std::string_view kAdvice[kLatencyEvents] = {
    "commands whose time depends on the amount of data, such as dumps, KEYS or BF.MERGE of large filters: SLOWLOG GET "
    "shows them",
    "quick commands waited: for a busy CPU, for memory that is touched for the first time, or for another loop that "
    "adds to the same filter",
    "all clients of a loop waited: INFO commandstats shows what took the time; io-threads sets the number of loops",
    "the disk took a long time to sync the log: appendfsync everysec waits less than always, and a faster disk helps",
    "writing a snapshot took a long time; clients do not wait for it, but it keeps the disk busy",
};

void AppendEvent(std::string& report, LatencyEvent event, const LatencyMonitor::History& history) {
  uint64_t sum_ms = 0;
  for (const LatencyMonitor::Sample& sample : history.samples) sum_ms += sample.ms;
  const auto index = static_cast<size_t>(event);
  report.append(LatencyMonitor::kNames[index]).append(": ");
  report += std::to_string(history.samples.size()) + " seconds with an event, " +
            std::to_string(sum_ms / history.samples.size()) + " ms on average, " + std::to_string(history.longest_ms) +
            " ms at most. Check: ";
  report.append(kAdvice[index]).append(".\n");
}

void Doctor(ServerContext& context) {
  const LatencyMonitor& monitor = MonitorOf(context);
  std::string report;
  for (size_t i = 0; i < kLatencyEvents; ++i) {
    const auto event = static_cast<LatencyEvent>(i);
    const LatencyMonitor::History history = monitor.Of(event);
    if (!history.samples.empty()) AppendEvent(report, event, history);
  }
  if (monitor.threshold_ms() == 0) {
    report += "Nothing is recorded: CONFIG SET latency-monitor-threshold 100 records what takes 100 ms or longer.\n";
  } else if (report.empty()) {
    report = "Nothing took " + std::to_string(monitor.threshold_ms()) + " ms or longer.\n";
  }
  context.reply.VerbatimText(report);
}

using Buckets = std::vector<std::pair<int64_t, int64_t>>;

// Returns pairs of microseconds and the number of calls that took at most that long, without the buckets that add no
// calls.
Buckets Cumulative(const CommandTotals& totals) {
  Buckets buckets;
  uint64_t calls = 0;
  for (size_t i = 0; i < totals.latency.size(); ++i) {
    if (totals.latency[i] == 0) continue;
    calls += totals.latency[i];
    const uint64_t bound_ns = LatencyBuckets::UpperBoundNs(std::min(i, LatencyBuckets::kBounds - 1));
    const auto us = static_cast<int64_t>(std::max<uint64_t>(bound_ns / 1024, 1));  // as Redis rounds: 1024 ns are 1 us
    if (buckets.empty() || buckets.back().first != us) buckets.emplace_back(us, 0);
    buckets.back().second = static_cast<int64_t>(calls);
  }
  return buckets;
}

void WriteHistogram(protocol::ReplyWriter& reply, const CommandRow& row, const CommandTotals& totals) {
  reply.BulkString(row.name);
  reply.MapHeader(2);
  reply.BulkString("calls");
  reply.Integer(static_cast<int64_t>(totals.calls));
  reply.BulkString("histogram_usec");
  const Buckets buckets = Cumulative(totals);
  reply.MapHeader(buckets.size());
  for (const auto& [us, calls] : buckets) {
    reply.Integer(us);
    reply.Integer(calls);
  }
}

// Returns the rows of the names, and all subcommands of a container; unknown names are left out, as in Redis.
std::vector<const CommandRow*> RowsOf(const CommandTable& table, Arguments names) {
  std::vector<const CommandRow*> rows;
  const auto add = [&](const CommandRow& row) {
    rows.push_back(&row);
    for (const CommandRow& subcommand : row.subcommands) rows.push_back(&subcommand);
  };
  for (const std::string_view name : names) {
    if (const CommandRow* row = table.FindFull(name); row != nullptr) add(*row);
  }
  if (names.empty()) std::ranges::for_each(table.rows(), [&](const CommandRow* row) { add(*row); });
  return rows;
}

void Histogram(ServerContext& context) {
  std::vector<std::pair<const CommandRow*, CommandTotals>> found;
  for (const CommandRow* row : RowsOf(context.table(), context.arguments.subspan(2))) {
    CommandTotals totals = TotalsOf(*context.server.stats, context.table().IndexOf(*row));
    if (totals.calls != 0) found.emplace_back(row, totals);
  }
  context.reply.MapHeader(found.size());
  for (const auto& [row, totals] : found) WriteHistogram(context.reply, *row, totals);
}

constexpr CommandRow LatencyRow(std::string_view name, int arity, std::string_view since, std::string_view complexity,
                                std::string_view summary, std::string_view syntax, std::string_view notes,
                                Handler handler) {
  return {.name = name,
          .arity = arity,
          .flags = kAdmin | kLoading,
          .since = since,
          .complexity = complexity,
          .summary = summary,
          .syntax = syntax,
          .notes = notes,
          .weigh = WeighArguments,
          .handler = handler};
}

constexpr CommandRow kSubcommands[] = {
    LatencyRow("latency|doctor", 2, "2.8.13", "O(1)",
               "Describes the recorded latency events and suggests what to check.", "", "", On<Doctor>),
    HelpRow("latency|help", "2.8.13"),
    LatencyRow(
        "latency|histogram", -2, "7.0.0", "O(commands)",
        "Returns for each command the number of its calls, and how many of them took at most 1, 2, 4 ... microseconds.",
        "[command [command ...]]",
        "Only commands that were called are included, and only counts that are higher than the one before. Quick "
        "commands of a pipeline count equal shares of their time.",
        On<Histogram>),
    LatencyRow("latency|history", 3, "2.8.13", "O(1)",
               "Returns the times of an event: the Unix time and the milliseconds of each.", "event",
               "The history contains the last 160 seconds in which the event happened, each with its longest time. The "
               "events are command, fast-command, event-loop (one round of an event loop), log-sync (a sync of the "
               "log) and snapshot.",
               On<History>),
    LatencyRow(
        "latency|latest", 2, "2.8.13", "O(1)",
        "Returns for each event its name, the Unix time and milliseconds of the latest one, and the milliseconds of "
        "the longest.",
        "",
        "Events that take at least latency-monitor-threshold milliseconds are recorded; with 0, the default, none is.",
        On<Latest>),
    LatencyRow("latency|reset", -2, "2.8.13", "O(events)",
               "Drops the records of these events, or of all. Returns how many events there were.",
               "[event [event ...]]", "", On<Reset>),
};

constexpr CommandRow kRows[] = {
    {.name = "latency",
     .arity = -2,
     .since = "2.8.13",
     .complexity = "that of the subcommand",
     .summary = "Commands about latency: events that took long, and how long commands take.",
     .subcommands = kSubcommands},
};

}  // namespace
}  // namespace latency_commands

std::span<const CommandRow> LatencyCommands() { return latency_commands::kRows; }

}  // namespace bitsieve::server
