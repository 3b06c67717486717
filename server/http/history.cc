#include "server/http/history.h"

#include <algorithm>
#include <variant>

#include "server/dispatch/command_table.h"
#include "server/metrics/metric_readings.h"
#include "server/metrics/metric_table.h"

namespace bitsieve::server {
namespace {

constexpr std::string_view kFields[] = {
    "total_commands_processed", "keyspace_hits",         "keyspace_misses",        "items_added",
    "total_error_replies",      "total_net_input_bytes", "total_net_output_bytes", "used_memory",
    "used_memory_rss",          "mem_clients_normal",    "connected_clients",      "latency_median_seconds",
    "latency_99th_seconds"};
constexpr size_t kLatencies = 2;

double NumberIn(const MetricValue& value) {
  if (const auto* number = std::get_if<uint64_t>(&value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? 0 : *number;
}

double ReadField(std::string_view name, MetricReadings& readings) {
  for (const MetricSection& section : MetricSections()) {
    const auto row = std::ranges::find(section.rows, name, &MetricRow::name);
    if (row != section.rows.end()) return NumberIn(ReadMetric(*row, readings));
  }
  return 0;
}

CommandTotals TotalsOfAll(const Environment& server) {
  CommandTotals all;
  for (size_t command = 0; command < server.table->all_rows().size(); ++command) {
    const CommandTotals totals = TotalsOf(*server.stats, command);
    for (size_t i = 0; i < all.latency.size(); ++i) all.latency[i] += totals.latency[i];
  }
  return all;
}

// A reset of the counters makes them smaller than before.
CommandTotals Since(const CommandTotals& before, const CommandTotals& now) {
  CommandTotals between;
  for (size_t i = 0; i < now.latency.size(); ++i) {
    between.latency[i] = now.latency[i] - std::min(before.latency[i], now.latency[i]);
    between.calls += between.latency[i];
  }
  return between;
}

}  // namespace

std::span<const std::string_view> History::Fields() { return kFields; }

void History::Take(const Environment& server) {
  MetricReadings readings(server);
  Point point{.number = 0, .unix_ms = server.clock->WallMs(), .values = {}};
  for (const std::string_view field : std::span(kFields).first(std::size(kFields) - kLatencies)) {
    point.values.push_back(ReadField(field, readings));
  }
  const CommandTotals now = TotalsOfAll(server);
  const core::LockGuard lock(mutex_);
  const CommandTotals between = Since(before_, now);
  before_ = now;
  for (const double percent : {50.0, 99.0}) point.values.push_back(between.PercentileNs(percent) / 1e9);
  point.number = ++taken_;
  points_.push_back(std::move(point));
  if (points_.size() > kPoints) points_.pop_front();
}

std::vector<History::Point> History::After(uint64_t number) const {
  const core::LockGuard lock(mutex_);
  const auto first = std::ranges::upper_bound(points_, number, {}, &Point::number);
  return {first, points_.end()};
}

}  // namespace bitsieve::server
