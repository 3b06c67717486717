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

void Latest(ServerContext& context) {
  std::vector<std::pair<std::string_view, LatencyMonitor::Times>> found;
  for (size_t i = 0; i < kLatencyEvents; ++i) {
    const LatencyMonitor::Times times = MonitorOf(context).Of(static_cast<LatencyEvent>(i));
    if (times.longest_ms != 0) found.emplace_back(LatencyMonitor::kNames[i], times);
  }
  context.reply.ArrayHeader(found.size());
  for (const auto& [name, times] : found) {
    context.reply.ArrayHeader(4);
    context.reply.BulkString(name);
    context.reply.Integer(times.last_unix_s);
    context.reply.Integer(static_cast<int64_t>(times.last_ms));
    context.reply.Integer(static_cast<int64_t>(times.longest_ms));
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
    HelpRow("latency|help", "2.8.13"),
    LatencyRow(
        "latency|histogram", -2, "7.0.0", "O(commands)",
        "Returns for each command the number of its calls, and how many of them took at most 1, 2, 4 ... microseconds.",
        "[command [command ...]]",
        "Only commands that were called are included, and only counts that are higher than the one before. Quick "
        "commands of a pipeline count equal shares of their time.",
        On<Histogram>),
    LatencyRow(
        "latency|latest", 2, "2.8.13", "O(1)",
        "Returns for each event its name, the Unix time and milliseconds of the latest one, and the milliseconds of "
        "the longest.",
        "",
        "Events are command, fast-command, event-loop (one round of an event loop), log-sync (a sync of the log) and "
        "snapshot. Those that take at least latency-monitor-threshold milliseconds are recorded; with 0, the default, "
        "none is. If an event happened several times in the last second, its longest time counts.",
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
