#include <string_view>

#include "server/commands/metric_table.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

using server::MetricRow;
using server::MetricType;
using server::MetricUnit;

constexpr std::string_view kIntroduction =
    R"(<!-- Written by scripts/docs from server/commands/metric_table.cc. -->
# Metrics

Each is a field of `INFO`, in the section under whose heading it stands; fields that Redis has too have its names. The
section *bf* visits every filter, and is shown only by `INFO bf`, `INFO modules` and `INFO everything`.

A counter only grows; `CONFIG RESETSTAT` sets those of the section *Stats* to 0, except for `evicted_clients`. A gauge
may go up and down. Info is text, or the value of another field in another form.
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

std::string Row(const MetricRow& row) {
  std::string line = "| `" + std::string(row.name) + "`";
  for (const std::string_view cell : {NameOf(row.type), NameOf(row.unit), row.help}) {
    line.append(" | ").append(cell);
  }
  return line + " |\n";
}

}  // namespace

std::string MetricsPage() {
  std::string page(kIntroduction);
  for (const server::MetricSection& section : server::MetricSections()) {
    page += "\n## " + std::string(section.title) + "\n\n| Field | Type | Unit | What it is |\n|---|---|---|---|\n";
    for (const MetricRow& row : section.rows) page += Row(row);
  }
  return page;
}

}  // namespace bitsieve::lint
