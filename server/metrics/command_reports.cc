#include "server/metrics/command_reports.h"

#include <cstdio>
#include <map>
#include <string>

#include "server/dispatch/command_table.h"
#include "server/stats/command_stats.h"
#include "server/stats/stats.h"

namespace bitsieve::server {

using namespace commands;

namespace {

template <class Visit>
void ForEachCommand(const Environment& server, Visit&& visit) {
  for (const CommandRow& row : server.table->all_rows()) {
    visit(row.name, TotalsOf(*server.stats, server.table->IndexOf(row)));
  }
}

template <class... Values>
std::string Formatted(const char* format, Values... values) {
  char text[160];
  const int size = std::snprintf(text, sizeof text, format, values...);
  return {text, static_cast<size_t>(size)};
}

}  // namespace

// These three have the form that Redis gives them.

void EachCommand(MetricReadings& readings, const MetricRow::Field& field) {
  using ull = unsigned long long;
  ForEachCommand(readings.server(), [&](std::string_view name, const CommandTotals& totals) {
    if (totals.calls == 0 && totals.rejected == 0) return;
    const double each_us =
        totals.calls == 0 ? 0 : static_cast<double>(totals.ns) / 1000 / static_cast<double>(totals.calls);
    field(name, Formatted("calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,failed_calls=%llu",
                          ull{totals.calls}, ull{totals.ns / 1000}, each_us, ull{totals.rejected}, ull{totals.failed}));
  });
}

void EachErrorCode(MetricReadings& readings, const MetricRow::Field& field) {
  std::map<std::string_view, uint64_t> counts;
  for (const LoopStats& loop : readings.server().stats->loops) {
    loop.error_codes.ForEach([&](std::string_view code, uint64_t count) { counts[code] += count; });
  }
  for (const auto& [code, count] : counts) {
    if (count != 0) field(code, "count=" + std::to_string(count));
  }
}

void EachLatency(MetricReadings& readings, const MetricRow::Field& field) {
  ForEachCommand(readings.server(), [&](std::string_view name, const CommandTotals& totals) {
    if (totals.calls == 0) return;
    const auto us = [&](double percent) { return totals.PercentileNs(percent) / 1000; };
    field(name, Formatted("p50=%.3f,p99=%.3f,p99.9=%.3f", us(50), us(99), us(99.9)));
  });
}

}  // namespace bitsieve::server
