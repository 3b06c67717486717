// plan_plot.h: a plan as pictures: how the error rate rises with the items, and what each type takes for each error
// rate. The figures are those of core::ForecastOf. Thread-safe: pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/plan/planner.h"

namespace bitsieve::cli {

struct Curve {
  struct Point {
    double x;
    double y;
  };
  std::string name;
  std::vector<Point> points;
};

// Returns the recommended filter's expected error rate (y) against items over those planned, up to twice as many.
Curve RateByItems(const Plan& plan);
// Returns bits per item (y) against the requested error rate, for each type that meets the need, where it does.
std::vector<Curve> BitsByRate(const Need& need);

// Both side by side.
std::string SvgOf(const Plan& plan);
// The first of them, 72 columns wide.
std::string TerminalPlotOf(const Plan& plan);

}  // namespace bitsieve::cli
