// metrics_report.h: everything that /metrics shows: the metric rows that are exported (metric_table.h), and families
// with labels, each a row of MetricFamilies(). Thread-safe: free functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/dispatch/environment.h"
#include "server/http/exposition.h"
#include "server/http/filter_collector.h"

namespace bitsieve::server {

struct MetricSources {
  const Environment& server;
  const Collection* filters;  // null: there is none yet
};

// Metrics of one name that differ in a label.
struct MetricFamily {
  std::string_view name;
  FamilyType type;
  std::string_view label;  // empty: none
  std::string_view help;   // one sentence without a period, lower-case
  void (*write)(const MetricSources& sources, const MetricFamily& family, Exposition& exposition);
};

std::span<const MetricFamily> MetricFamilies();

std::string MetricsReport(const MetricSources& sources, ExpositionFormat format);

}  // namespace bitsieve::server
