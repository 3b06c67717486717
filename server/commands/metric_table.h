// metric_table.h: a metric is one row: its name, type, unit and meaning, and how it is read. INFO prints the rows,
// docs/metrics.md lists them, CONFIG RESETSTAT resets the counters among them. To add one, count in a member of
// LoopStats, or find the value where it is, and write its row.
// Thread-safe: constants and free functions. MetricReadings: thread-compatible.
#pragma once

#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "server/dispatch/dispatcher.h"
#include "server/keyspace/keyspace.h"

namespace bitsieve::server {

struct FilterTotals {
  uint64_t size_bytes = 0, filters = 0, sub_filters = 0, items = 0, capacity = 0;
};

// What several rows read, gathered when the first of them asks, so that the rows of a report agree.
class MetricReadings {
 public:
  explicit MetricReadings(const Dispatcher::Environment& server) : server_(server) {}

  const Dispatcher::Environment& server() const { return server_; }
  int64_t uptime_s();
  uint64_t resident_bytes();
  uint64_t used_bytes();
  const SnapshotStatus& snapshot();
  const LogStatus& log();
  int64_t loading_since_unix_s();
  const rusage& usage();
  // Looks at every filter.
  const FilterTotals& totals();

 private:
  const Dispatcher::Environment& server_;
  std::optional<int64_t> uptime_s_;
  std::optional<uint64_t> resident_bytes_;
  std::optional<uint64_t> used_bytes_;
  std::optional<SnapshotStatus> snapshot_;
  std::optional<LogStatus> log_;
  std::optional<int64_t> loading_since_unix_s_;
  std::optional<rusage> usage_;
  std::optional<FilterTotals> totals_;
};

// As Prometheus has them.
enum class MetricType : uint8_t {
  kCounter,  // only grows, unless CONFIG RESETSTAT sets it to 0
  kGauge,
  kInfo,  // text, or another row's value in another form
};
// Of the value as INFO has it. The base units are bytes and seconds.
enum class MetricUnit : uint8_t { kNone, kBytes, kSeconds, kMilliseconds, kUnixSeconds };

// std::monostate: there is nothing to show at the moment.
using MetricValue = std::variant<std::monostate, uint64_t, int64_t, double, std::string>;

struct MetricRow {
  using Counter = std::atomic<uint64_t> LoopStats::*;  // summed over all loops
  using Read = MetricValue (*)(MetricReadings& readings);

  std::string_view name;  // of the field of INFO
  MetricType type;
  MetricUnit unit;
  std::string_view help;  // one sentence without a period, lower-case
  std::variant<Counter, Read> source;
};

struct MetricSection {
  std::string_view title;
  std::span<const MetricRow> rows;
  bool visits_all_filters = false;  // shown only on request
};

// In the order of INFO.
std::span<const MetricSection> MetricSections();

MetricValue ReadMetric(const MetricRow& row, MetricReadings& readings);

// CONFIG RESETSTAT. An increment under way may survive it.
void ResetCounters(const Dispatcher::Environment& server);

}  // namespace bitsieve::server
