#include "server/http/metrics_report.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "server/dispatch/command_table.h"
#include "server/http/shown_name.h"
#include "server/metrics/metric_readings.h"
#include "server/stats/stats.h"

namespace bitsieve::server {
namespace {

using enum FamilyType;
using Sources = MetricSources;
using Family = MetricFamily;

double Seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

int64_t MonotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Version(const Sources&, const Family& family, Exposition& exposition) {
  exposition.AddLabelled(std::array{Exposition::Label(family.label, BITSIEVE_VERSION)}, 1);
}

// Calls write(name, loop) for each.
template <class Write>
void ForEachLoop(const Sources& sources, const Write& write) {
  int number = 0;
  for (const LoopStats& loop : sources.server.stats->loops) write(std::to_string(number++), loop);
}

void RoundTimesOfLoops(const Sources& sources, const Family& family, Exposition& exposition) {
  std::array<double, RoundTimes::kBoundsNs.size()> bounds_s;
  for (size_t i = 0; i < bounds_s.size(); ++i) bounds_s[i] = static_cast<double>(RoundTimes::kBoundsNs[i]) / 1e9;
  ForEachLoop(sources, [&](const std::string& name, const LoopStats& loop) {
    std::array<uint64_t, RoundTimes::kPlaces> counts;
    for (size_t i = 0; i < counts.size(); ++i) counts[i] = loop.rounds.count(i);
    exposition.AddHistogram({family.label, name}, bounds_s, counts, static_cast<double>(loop.rounds.sum_ns()) / 1e9);
  });
}

void LongestRounds(const Sources& sources, const Family& family, Exposition& exposition) {
  const int64_t now_ns = MonotonicNs();
  ForEachLoop(sources, [&](const std::string& name, const LoopStats& loop) {
    exposition.AddLabelled(std::array{Exposition::Label(family.label, name)},
                           static_cast<double>(loop.rounds.LongestNs(now_ns)) / 1e9);
  });
}

// Calls write(name, totals) for each command that was ever called.
template <class Write>
void ForEachCommand(const Sources& sources, const Write& write) {
  const auto rows = sources.server.table->all_rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    const CommandTotals totals = TotalsOf(*sources.server.stats, i);
    if (totals.calls + totals.rejected != 0) write(rows[i].name, totals);
  }
}

template <auto kCount>
void OfCommands(const Sources& sources, const Family& family, Exposition& exposition) {
  ForEachCommand(sources, [&](std::string_view name, const CommandTotals& totals) {
    exposition.AddLabelled(std::array{Exposition::Label(family.label, name)}, static_cast<double>(totals.*kCount));
  });
}

// From a microsecond to 17 seconds, each four times the one before.
constexpr size_t kFirstBound = 5;
constexpr size_t kBoundStep = 2;
constexpr size_t kDurationBounds = 13;

void DurationsOfCommands(const Sources& sources, const Family& family, Exposition& exposition) {
  std::array<double, kDurationBounds> bounds_s;
  for (size_t i = 0; i < bounds_s.size(); ++i) {
    bounds_s[i] = static_cast<double>(LatencyBuckets::UpperBoundNs(kFirstBound + i * kBoundStep)) / 1e9;
  }
  ForEachCommand(sources, [&](std::string_view name, const CommandTotals& totals) {
    std::array<uint64_t, kDurationBounds + 1> counts{};
    for (size_t bucket = 0; bucket < totals.latency.size(); ++bucket) {
      const size_t beyond = bucket > kFirstBound ? (bucket - kFirstBound + kBoundStep - 1) / kBoundStep : 0;
      counts[std::min(beyond, kDurationBounds)] += totals.latency[bucket];
    }
    exposition.AddHistogram({family.label, name}, bounds_s, counts, static_cast<double>(totals.ns) / 1e9);
  });
}

// Adds the error replies of all loops, by code.
void ErrorCodes(const Sources& sources, const Family& family, Exposition& exposition) {
  std::map<std::string, uint64_t, std::less<>> counts;
  for (const LoopStats& loop : sources.server.stats->loops) {
    loop.error_codes.ForEach([&](std::string_view code, uint64_t count) { counts[std::string(code)] += count; });
  }
  for (const auto& [code, count] : counts) {
    exposition.AddLabelled(std::array{Exposition::Label(family.label, code)}, static_cast<double>(count));
  }
}

// A figure of each quota.
template <auto kFigure>
void OfQuotas(const Sources& sources, const Family& family, Exposition& exposition) {
  for (const QuotaUse& quota : sources.server.keyspace->QuotasInUse()) {
    exposition.AddLabelled(std::array{Exposition::Label(family.label, ShownName(quota.pattern))},
                           static_cast<double>(quota.*kFigure));
  }
}

// A figure of each of the chosen filters. Figure: a member, or a function of FilterFigures.
template <auto kFigure>
void OfFilters(const Sources& sources, const Family& family, Exposition& exposition) {
  if (sources.filters == nullptr) return;
  for (const FilterFigures& filter : sources.filters->chosen) {
    const std::optional<double> value = std::invoke(kFigure, filter);
    if (!value) continue;
    exposition.AddLabelled(std::array{Exposition::Label(family.label, ShownName(filter.name))}, *value);
  }
}

// Returns a count of the filter's use; nothing if the filter does not count it.
template <auto kCount>
std::optional<double> UseOf(const FilterFigures& filter) {
  if (!filter.use) return std::nullopt;
  return static_cast<double>((*filter.use).*kCount);
}

void LeftOut(const Sources& sources, const Family&, Exposition& exposition) {
  if (sources.filters != nullptr) exposition.Add(static_cast<double>(sources.filters->left_out));
}

void CollectionAge(const Sources& sources, const Family&, Exposition& exposition) {
  if (sources.filters != nullptr) exposition.Add(Seconds(std::chrono::steady_clock::now() - sources.filters->ended));
}

void CollectionWork(const Sources& sources, const Family&, Exposition& exposition) {
  if (sources.filters != nullptr) exposition.Add(Seconds(sources.filters->work));
}

constexpr std::string_view kCommand = "command";
constexpr std::string_view kFilter = "filter";
constexpr std::string_view kQuota = "quota";
constexpr MetricFamily kFamilies[] = {
    {"bitsieve_build_info", kGauge, "version", "always 1; the label is the version of the server", Version},
    {"bitsieve_loop_round_seconds", kHistogram, "loop",
     "duration of the rounds of an event loop, for which other clients of the loop wait", RoundTimesOfLoops},
    {"bitsieve_loop_longest_round_seconds", kGauge, "loop",
     "the longest round of the last 17 to 34 seconds, including one in progress", LongestRounds},
    {"bitsieve_command_calls_total", kCounter, kCommand, "calls of the command that ran",
     OfCommands<&CommandTotals::calls>},
    {"bitsieve_command_failed_total", kCounter, kCommand, "calls whose reply was an error",
     OfCommands<&CommandTotals::failed>},
    {"bitsieve_command_rejected_total", kCounter, kCommand, "calls that were refused before they ran",
     OfCommands<&CommandTotals::rejected>},
    {"bitsieve_command_duration_seconds", kHistogram, kCommand, "duration of calls of the command",
     DurationsOfCommands},
    {"bitsieve_errors_total", kCounter, "code", "error replies by error code, their first word", ErrorCodes},
    {"bitsieve_quota_filters", kGauge, kQuota, "filters that count towards the quota", OfQuotas<&QuotaUse::filters>},
    {"bitsieve_quota_filters_limit", kGauge, kQuota, "the maximum number of filters that the quota allows; 0: no limit",
     OfQuotas<&QuotaUse::most_filters>},
    {"bitsieve_quota_size_bytes", kGauge, kQuota, "memory of filters and names that count towards the quota",
     OfQuotas<&QuotaUse::bytes>},
    {"bitsieve_quota_size_limit_bytes", kGauge, kQuota, "the maximum memory that the quota allows; 0: no limit",
     OfQuotas<&QuotaUse::most_bytes>},
    {"bitsieve_quota_refusals_total", kCounter, kQuota, "how often the quota refused a filter, or memory for one",
     OfQuotas<&QuotaUse::refusals>},
    {"bitsieve_filter_items", kGauge, kFilter, "number of items in the filter", OfFilters<&FilterFigures::items>},
    {"bitsieve_filter_capacity_items", kGauge, kFilter, "number of items that the filter has room for",
     OfFilters<&FilterFigures::capacity>},
    {"bitsieve_filter_fill_ratio", kGauge, kFilter, "number of items divided by the capacity",
     OfFilters<&FilterFigures::Fill>},
    {"bitsieve_filter_requested_error_rate", kGauge, kFilter,
     "the false positive rate that was requested for the filter", OfFilters<&FilterFigures::requested_error_rate>},
    {"bitsieve_filter_estimated_error_rate", kGauge, kFilter, "the estimated false positive rate at the current fill",
     OfFilters<&FilterFigures::estimated_error_rate>},
    {"bitsieve_filter_size_bytes", kGauge, kFilter, "memory of the filter", OfFilters<&FilterFigures::size_bytes>},
    {"bitsieve_filter_sub_filters", kGauge, kFilter, "number of sub-filters of the filter",
     OfFilters<&FilterFigures::sub_filters>},
    {"bitsieve_filter_hits_total", kCounter, kFilter, "lookups that found their item",
     OfFilters<UseOf<&core::FilterUse::hits>>},
    {"bitsieve_filter_misses_total", kCounter, kFilter, "lookups that did not find their item",
     OfFilters<UseOf<&core::FilterUse::misses>>},
    {"bitsieve_filter_adds_total", kCounter, kFilter, "added items that were new",
     OfFilters<UseOf<&core::FilterUse::added>>},
    {"bitsieve_filter_last_use_timestamp_seconds", kGauge, kFilter,
     "when the filter last had a command about items, in seconds since 1970; 0: never",
     OfFilters<UseOf<&core::FilterUse::last_unix_s>>},
    {"bitsieve_filters_left_out", kGauge, "",
     "filters that match metrics-filters, but have no metrics because 1000 larger ones do", LeftOut},
    {"bitsieve_filters_collection_age_seconds", kGauge, "",
     "age of the figures of filters, which are collected in the background", CollectionAge},
    {"bitsieve_filters_collection_work_seconds", kGauge, "", "CPU time that collecting the figures of filters took",
     CollectionWork},
};

void WriteRow(const MetricRow& row, MetricReadings& readings, Exposition& exposition) {
  const std::string name = PrometheusName(row);
  if (name.empty()) return;
  const std::optional<double> value = PrometheusValue(row, ReadMetric(row, readings));
  if (!value) return;
  exposition.BeginFamily(name, row.type == MetricType::kCounter ? kCounter : kGauge, row.help);
  exposition.Add(*value);
}

}  // namespace

std::span<const MetricFamily> MetricFamilies() { return kFamilies; }

std::string MetricsReport(const MetricSources& sources, ExpositionFormat format) {
  Exposition exposition(format);
  MetricReadings readings(sources.server);
  if (sources.filters != nullptr) readings.set_totals(sources.filters->totals);
  for (const MetricSection& section : MetricSections()) {
    if (section.visits_all_filters && sources.filters == nullptr) continue;
    for (const MetricRow& row : section.rows) WriteRow(row, readings, exposition);
  }
  for (const MetricFamily& family : kFamilies) {
    exposition.BeginFamily(family.name, family.type, family.help);
    family.write(sources, family, exposition);
  }
  return std::move(exposition).Finish();
}

}  // namespace bitsieve::server
