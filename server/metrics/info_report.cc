#include "server/metrics/info_report.h"

#include <algorithm>
#include <cstdio>
#include <type_traits>
#include <variant>

#include "server/metrics/metric_table.h"

namespace bitsieve::server {

using namespace commands;

namespace {

std::string TextOf(const MetricValue& value) {
  return std::visit(
      [](const auto& shown) -> std::string {
        using T = std::remove_cvref_t<decltype(shown)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "";
        } else if constexpr (std::is_same_v<T, double>) {
          char text[32];
          return {text, static_cast<size_t>(std::snprintf(text, sizeof text, "%.6f", shown))};
        } else if constexpr (std::is_same_v<T, std::string>) {
          return shown;
        } else {
          return std::to_string(shown);
        }
      },
      value);
}

void Append(const MetricSection& section, MetricReadings& readings, std::string& report) {
  if (!report.empty()) report += "\r\n";
  report.append("# ").append(section.title).append("\r\n");
  for (const MetricRow& row : section.rows) {
    if (const auto* each = std::get_if<MetricRow::Each>(&row.source)) {
      (*each)(readings, [&](std::string_view suffix, const std::string& value) {
        report.append(row.name).append(suffix).append(":").append(value).append("\r\n");
      });
    }
    const MetricValue value = ReadMetric(row, readings);
    if (std::holds_alternative<std::monostate>(value)) continue;
    report.append(row.name).append(":").append(TextOf(value)).append("\r\n");
  }
}

bool Wants(std::string_view asked, const MetricSection& section) {
  if (EqualsIgnoringCase(asked, section.title) || EqualsIgnoringCase(asked, "everything")) return true;
  if (EqualsIgnoringCase(asked, "modules")) return section.visits_all_filters;
  if (section.visits_all_filters) return false;
  return EqualsIgnoringCase(asked, "all") || (section.by_default && EqualsIgnoringCase(asked, "default"));
}

}  // namespace

bool VisitsAllFilters(Arguments sections) {
  return std::ranges::any_of(MetricSections(), [&](const MetricSection& section) {
    return section.visits_all_filters &&
           std::ranges::any_of(sections, [&](std::string_view asked) { return Wants(asked, section); });
  });
}

std::string InfoReport(const Environment& environment, Arguments sections) {
  MetricReadings readings(environment);
  std::string report;
  for (const MetricSection& section : MetricSections()) {
    const bool wanted =
        sections.empty() ? Wants("default", section)
                         : std::ranges::any_of(sections, [&](std::string_view asked) { return Wants(asked, section); });
    if (wanted) Append(section, readings, report);
  }
  return report;
}

}  // namespace bitsieve::server
