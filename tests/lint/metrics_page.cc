#include <string>
#include <string_view>
#include <variant>

#include "server/http/metrics_report.h"
#include "server/metrics/metric_table.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

using server::MetricRow;
using server::MetricType;
using server::MetricUnit;

constexpr std::string_view kMetricsIntroduction =
    R"(<!-- Written by scripts/docs from server/metrics/metric_table.cc and server/http/metrics_report.cc. -->
# Metrics

Two views of the same figures: fields of `INFO`, and metrics for Prometheus at `/metrics` of the admin port
([dashboard](dashboard.md#metrics)).

Each row below is a field of `INFO`; the headings are its sections. Fields that Redis also has have the same names. The
section *bf* visits every filter, and is shown only by `INFO bf`, `INFO modules` and `INFO everything`. *Commandstats*
and *Latencystats* are shown if they are named, and by `INFO all` and `INFO everything`. A name that ends in `*` stands
for several fields.

A counter only grows; `CONFIG RESETSTAT` sets those of *Stats*, *Commandstats*, *Errorstats* and *Latencystats* to 0,
except for `evicted_clients` and `keyspace_events_dropped`. A gauge may go up and down. Info is text, or the value of
another field in a different form.

The last column is the name in Prometheus. Fields without one never change, or repeat the value of another field. Times
are in seconds there; a status is 1 if it is ok and 0 if not.
)";

constexpr std::string_view kFamilies = R"(
## With labels

These metrics are only in `/metrics`. Filters are labelled with their names; bytes that are not text are written as
`\xff`.

| Metric | Type | Label | What it is |
|---|---|---|---|
)";

std::string_view NameOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kInfo:
      break;
  }
  return "info";
}

std::string_view NameOf(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kBytes:
      return "bytes";
    case MetricUnit::kSeconds:
      return "seconds";
    case MetricUnit::kMilliseconds:
      return "milliseconds";
    case MetricUnit::kUnixSeconds:
      return "seconds since 1970";
    case MetricUnit::kNone:
      break;
  }
  return "";
}

std::string_view NameOf(server::FamilyType type) {
  switch (type) {
    case server::FamilyType::kCounter:
      return "counter";
    case server::FamilyType::kGauge:
      return "gauge";
    case server::FamilyType::kHistogram:
      break;
  }
  return "histogram";
}

std::string Row(const server::MetricFamily& family) {
  std::string line = "| `" + std::string(family.name) + "`";
  for (const std::string_view cell : {NameOf(family.type), family.label, family.help}) {
    line.append(" | ").append(cell);
  }
  return line + " |\n";
}

std::string Row(const MetricRow& row) {
  const bool is_many = std::holds_alternative<MetricRow::Each>(row.source);
  std::string line = "| `" + std::string(row.name) + (is_many ? "*`" : "`");
  for (const std::string_view cell : {NameOf(row.type), NameOf(row.unit), row.help}) {
    line.append(" | ").append(cell);
  }
  const std::string exported = server::PrometheusName(row);
  return line + " | " + (exported.empty() ? "" : "`" + exported + "`") + " |\n";
}

}  // namespace

std::string MetricsPage() {
  std::string page(kMetricsIntroduction);
  for (const server::MetricSection& section : server::MetricSections()) {
    page += "\n## " + std::string(section.title) +
            "\n\n| Field | Type | Unit | What it is | Prometheus |\n|---|---|---|---|---|\n";
    for (const MetricRow& row : section.rows) page += Row(row);
  }
  page += kFamilies;
  for (const server::MetricFamily& family : server::MetricFamilies()) page += Row(family);
  return page;
}

}  // namespace bitsieve::lint
