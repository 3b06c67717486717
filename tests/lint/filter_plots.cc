#include <string>
#include <vector>

#include "cli/plan/plan_plot.h"
#include "core/filter/filter_type.h"
#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

// A million items at 1%. Ribbon filters hold sets that are complete, windows one of so many items.
cli::Need NeedOf(const core::FilterTypeRow& type) {
  constexpr uint64_t kItems = 1'000'000;
  cli::Need need{.items = kItems, .error_rate = 0.01, .is_static = type.can.freeze, .type = std::string(type.name)};
  if (type.name == "window") need.window = core::WindowSpan{.items = kItems};
  return need;
}

}  // namespace

std::vector<FilterPlot> FilterPlots() {
  std::vector<FilterPlot> plots;
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    const auto plan = cli::MakePlan(NeedOf(*type));
    if (plan) plots.push_back({.type = std::string(type->name), .svg = cli::SvgOf(*plan)});
  }
  return plots;
}

}  // namespace bitsieve::lint
