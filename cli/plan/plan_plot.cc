#include "cli/plan/plan_plot.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "cli/client/units.h"

namespace bitsieve::cli {
namespace {

struct Axis {
  std::string_view label;
  double low;
  double high;
  bool is_log;
  std::vector<double> ticks;

  // 0 at its low end, 1 at its high end.
  double Place(double value) const {
    if (!is_log) return (value - low) / (high - low);
    return std::log(std::max(value, low) / low) / std::log(high / low);
  }
};

struct Chart {
  std::string title;
  Axis x, y;
  std::vector<Curve> curves;
  std::string (*x_text)(double tick);
  std::string (*y_text)(double tick);
};

std::vector<double> Decades(double low, double high) {
  std::vector<double> ticks;
  for (int power = static_cast<int>(std::ceil(std::log10(low) - 1e-9)); std::pow(10, power) <= high * (1 + 1e-9);
       ++power) {
    ticks.push_back(std::pow(10, power));
  }
  return ticks;
}

// A rate of 0 has no logarithm; five decades are enough to see.
constexpr double kDecadesShown = 1e5;

Chart RateChart(const Plan& plan) {
  Curve curve = RateByItems(plan);
  double most = plan.need.error_rate;
  for (const Curve::Point& point : curve.points) most = std::max(most, point.y);
  const double high = std::pow(10, std::ceil(std::log10(most) - 1e-9));
  const double low = high / kDecadesShown;
  const double rate = plan.need.error_rate;
  Chart chart{.title = fmt::format("Error rate of {} as it fills", plan.best.type->name),
              .x = {"items / items planned", 0, 2, false, {0, 0.5, 1, 1.5, 2}},
              .y = {"expected error rate", low, high, true, Decades(low, high)},
              .curves = {},
              .x_text = [](double tick) { return fmt::format("{}", tick); },
              .y_text = PercentText};
  std::erase_if(curve.points, [low](const Curve::Point& point) { return point.y < low; });
  chart.curves.push_back(std::move(curve));
  chart.curves.push_back({"requested", {{0, rate}, {2, rate}}});
  if (const auto& present = plan.present) {
    const double share = static_cast<double>(present->items) / static_cast<double>(plan.need.items);
    chart.curves.push_back({"now", {{std::min(share, 2.0), std::clamp(present->estimated_error_rate, low, high)}}});
  }
  return chart;
}

constexpr double kHighestRate = 0.1;
constexpr double kLowestRate = 1e-8;
constexpr double kMaxBits = 60;  // where counting would make all others flat

Chart MemoryChart(const Plan& plan) {
  Chart chart{.title = fmt::format("Memory for {} items", CountText(plan.need.items)),
              .x = {"requested error rate", kLowestRate, kHighestRate, true, Decades(kLowestRate, kHighestRate)},
              .y = {"bits per item", 0, kMaxBits, false, {0, 10, 20, 30, 40, 50, 60}},
              .curves = BitsByRate(plan.need),
              .x_text = [](double tick) { return fmt::format("1e{}", std::lround(std::log10(tick))); },
              .y_text = [](double tick) { return fmt::format("{}", tick); }};
  for (Curve& curve : chart.curves)
    std::erase_if(curve.points, [](const Curve::Point& point) { return point.y > kMaxBits; });
  std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.empty(); });
  // A curve of one point.
  if (plan.best.bits_per_item() <= kMaxBits) {
    chart.curves.push_back({"planned", {{plan.need.error_rate, plan.best.bits_per_item()}}});
  }
  if (const auto& present = plan.present) {
    const double rate = std::clamp(present->requested_error_rate, kLowestRate, kHighestRate);
    chart.curves.push_back({"now", {{rate, std::min(present->bits_per_item(), kMaxBits)}}});
  }
  return chart;
}

// In pixels.
constexpr double kChartWidth = 560, kChartHeight = 380;
constexpr double kLeft = 96, kRight = 110, kTop = 40, kBottom = 50;  // around the plot

// Distinguishable with any colour vision (Okabe and Ito, "Color Universal Design", 2008).
constexpr std::array<std::string_view, 8> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                   "#e69f00", "#56b4e9", "#000000", "#999999"};

double XOf(const Chart& chart, double x) { return kLeft + chart.x.Place(x) * (kChartWidth - kLeft - kRight); }
double YOf(const Chart& chart, double y) {
  return kChartHeight - kBottom - chart.y.Place(y) * (kChartHeight - kTop - kBottom);
}

std::string SvgText(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
}

std::string SvgLine(double x1, double y1, double x2, double y2) {
  return fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
}

std::string SvgFrame(const Chart& chart) {
  const double left = kLeft, right = kChartWidth - kRight, top = kTop, bottom = kChartHeight - kBottom;
  std::string svg = SvgText((left + right) / 2, top - 16, "middle", chart.title);
  for (const double tick : chart.x.ticks) {
    const double x = XOf(chart, tick);
    svg += SvgLine(x, top, x, bottom) + SvgText(x, bottom + 16, "middle", chart.x_text(tick));
  }
  for (const double tick : chart.y.ticks) {
    const double y = YOf(chart, tick);
    svg += SvgLine(left, y, right, y) + SvgText(left - 6, y + 4, "end", chart.y_text(tick));
  }
  svg += SvgText((left + right) / 2, bottom + 36, "middle", chart.x.label);
  const double middle = (top + bottom) / 2;
  svg += fmt::format("<text transform=\"translate(14 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", middle,
                     chart.y.label);
  return svg;
}

std::string SvgCurve(const Chart& chart, const Curve& curve, std::string_view colour) {
  if (curve.points.size() == 1) {
    return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/>\n", XOf(chart, curve.points[0].x),
                       YOf(chart, curve.points[0].y), colour);
  }
  std::string path;
  for (const Curve::Point& point : curve.points) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", XOf(chart, point.x), YOf(chart, point.y));
  }
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path, colour);
}

std::string SvgChart(const Chart& chart, double offset) {
  std::string svg = fmt::format("<g transform=\"translate({:.1f} 0)\">\n", offset) + SvgFrame(chart);
  for (size_t i = 0; i < chart.curves.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    const double y = kTop + 8 + 18 * static_cast<double>(i);
    svg += SvgCurve(chart, chart.curves[i], colour);
    svg += fmt::format("<g fill=\"{}\">{}</g>\n", colour,
                       SvgText(kChartWidth - kRight + 8, y, "start", chart.curves[i].name));
  }
  return svg + "</g>\n";
}

}  // namespace

Curve RateByItems(const Plan& plan) {
  constexpr int kSteps = 100;
  Curve curve{.name = std::string(plan.best.type->name), .points = {}};
  for (int i = 0; i <= 2 * kSteps; ++i) {
    const double share = static_cast<double>(i) / kSteps;
    const auto items = static_cast<uint64_t>(std::llround(static_cast<double>(plan.need.items) * share));
    const auto forecast = core::ForecastOf(plan.best.params, items);
    if (!forecast || forecast->items < items) break;  // it takes no more
    curve.points.push_back({share, forecast->error_rate});
  }
  return curve;
}

std::vector<Curve> BitsByRate(const Need& need) {
  constexpr int kSteps = 70;
  std::vector<Curve> curves;
  for (int i = 0; i <= kSteps; ++i) {
    Need at = need;
    at.error_rate = kHighestRate * std::pow(kLowestRate / kHighestRate, static_cast<double>(i) / kSteps);
    for (const Candidate& each : PossibleFor(at)) {
      auto curve = std::ranges::find(curves, each.type->name, &Curve::name);
      if (curve == curves.end()) curve = curves.insert(curve, {std::string(each.type->name), {}});
      curve->points.push_back({at.error_rate, each.bits_per_item()});
    }
  }
  return curves;
}

std::string SvgOf(const Plan& plan) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      2 * kChartWidth, kChartHeight);
  return svg + SvgChart(RateChart(plan), 0) + SvgChart(MemoryChart(plan), kChartWidth) + "</svg>\n";
}

std::string TerminalPlotOf(const Plan& plan) {
  constexpr size_t kColumns = 60, kRows = 16;
  const Chart chart = RateChart(plan);
  std::vector<std::string> rows(kRows + 1, std::string(kColumns + 1, ' '));
  const auto row_of = [&](double y) {
    return kRows - static_cast<size_t>(std::lround(std::clamp(chart.y.Place(y), 0.0, 1.0) * kRows));
  };
  const auto draw = [&](const Curve::Point& point, char mark) {
    rows[row_of(point.y)][static_cast<size_t>(std::lround(chart.x.Place(point.x) * kColumns))] = mark;
  };
  for (size_t i = 0; i <= kColumns; ++i) draw({2.0 * static_cast<double>(i) / kColumns, plan.need.error_rate}, '-');
  for (const Curve::Point& point : chart.curves.front().points) draw(point, '*');
  if (plan.present) draw(chart.curves.back().points.front(), '@');
  std::vector<std::string> labels(kRows + 1);
  for (const double tick : chart.y.ticks) labels[row_of(tick)] = PercentText(tick);
  std::string text = fmt::format("  {}; - is the requested one{}\n", chart.title, plan.present ? ", @ is now" : "");
  for (size_t i = 0; i <= kRows; ++i) {
    rows[i].erase(rows[i].find_last_not_of(' ') + 1);
    text += fmt::format("{:>9} |{}\n", labels[i], rows[i]);
  }
  text += std::string(10, ' ') + '+' + std::string(kColumns + 1, '-') + '\n';
  return text + fmt::format("{:>12}{:>29}{:>31}\n", "0", CountText(plan.need.items), CountText(2 * plan.need.items));
}

}  // namespace bitsieve::cli
