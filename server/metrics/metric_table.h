// metric_table.h: a metric is one row: its name, type, unit and meaning, and how it is read. INFO prints the rows,
// docs/metrics.md lists them, CONFIG RESETSTAT resets the counters among them. To add one, count in a member of
// LoopStats, or find the value where it is, and write its row.
// Thread-safe: constants and free functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "server/dispatch/environment.h"
#include "server/metrics/metric_readings.h"

namespace bitsieve::server {

// Metric types, named as in Prometheus.
enum class MetricType : uint8_t {
  kCounter,  // only grows, unless CONFIG RESETSTAT sets it to 0
  kGauge,
  kInfo,  // text, or another row's value in another form
};
// The unit of a value in INFO. The base units are bytes and seconds.
enum class MetricUnit : uint8_t { kNone, kBytes, kSeconds, kMilliseconds, kUnixSeconds };

// std::monostate: there is nothing to show at the moment.
using MetricValue = std::variant<std::monostate, uint64_t, int64_t, double, std::string>;

struct MetricRow {
  using Counter = std::atomic<uint64_t> LoopStats::*;  // summed over all loops
  using Read = MetricValue (*)(MetricReadings& readings);
  // The source of a row that stands for many fields: calls `field` for each, whose name is `name` and the suffix.
  using Field = std::function<void(std::string_view suffix, const std::string& value)>;
  using Each = void (*)(MetricReadings& readings, const Field& field);

  std::string_view name;  // of the field of INFO
  MetricType type;
  MetricUnit unit;
  std::string_view help;  // one sentence without a period, lower-case
  std::variant<Counter, Read, Each> source;
  // The metric's name for Prometheus, if the one that PrometheusName() would make does not fit; or kNotExported.
  std::string_view exported = {};
};

// Marks a row that is of no use to Prometheus: it never changes, or other rows have its value.
inline constexpr std::string_view kNotExported = "-";

// "bitsieve_", the row's name without "total_" at the front, the base unit and "_total" if it is a counter; or what the
// row has. Empty: not exported, as are rows of many fields. Information is exported only if its row has a name: as 1 if
// it is "ok", 0 if not.
std::string PrometheusName(const MetricRow& row);
// In the base unit; nothing if there is nothing to export at the moment.
std::optional<double> PrometheusValue(const MetricRow& row, const MetricValue& value);

struct MetricSection {
  std::string_view title;
  std::span<const MetricRow> rows;
  bool visits_all_filters = false;  // shown only on request
  bool by_default = true;           // otherwise by INFO all as well
};

// In the order of INFO.
std::span<const MetricSection> MetricSections();

// Nothing of a row that stands for many fields.
MetricValue ReadMetric(const MetricRow& row, MetricReadings& readings);

// CONFIG RESETSTAT. An increment under way may survive it.
void ResetCounters(const Environment& server);

}  // namespace bitsieve::server
