// Two pictures that compare filter types, drawn from the figures in the table of docs/filters/README.md.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/lint/pages.h"

namespace bitsieve::lint {
namespace {

struct Bar {
  std::string label;
  double value;
  std::string text;
};

struct Group {
  std::string title;
  std::vector<Bar> bars;
};

// In pixels.
constexpr double kWidth = 640, kLabelWidth = 230, kTextWidth = 120, kBarHeight = 20, kBarStep = 26, kTitleHeight = 34;
constexpr std::string_view kOwn = "#0072b2", kOther = "#999999";

// Column `column` of the table's row of `type`, without spaces; columns count from 0.
std::string Cell(const std::string& page, std::string_view type, size_t column) {
  const size_t begin = page.find(fmt::format("| [`{}`](", type));
  if (begin == std::string::npos) return "";
  std::istringstream row(page.substr(begin + 1, page.find('\n', begin) - begin - 1));
  std::string cell;
  for (size_t i = 0; i <= column; ++i) std::getline(row, cell, '|');
  std::erase(cell, ' ');
  return cell;
}

// The number at `index` of those that `separator` divides.
double Number(const std::string& cell, char separator, size_t index) {
  std::istringstream parts(cell);
  std::string part;
  for (size_t i = 0; i <= index; ++i) std::getline(parts, part, separator);
  return std::stod(part);
}

std::string Text(double x, double y, std::string_view anchor, std::string_view weight, const std::string& text) {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\" font-weight=\"{}\">{}</text>\n", x, y, anchor,
                     weight, text);
}

std::string Svg(const std::vector<Group>& groups) {
  double most = 0, height = 10;
  for (const Group& group : groups) {
    height += kTitleHeight + kBarStep * static_cast<double>(group.bars.size());
    for (const Bar& bar : group.bars) most = std::max(most, bar.value);
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"14\">\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n",
      kWidth, height);
  double y = 0;
  for (const Group& group : groups) {
    y += kTitleHeight;
    svg += Text(10, y - 10, "start", "bold", group.title);
    for (const Bar& bar : group.bars) {
      const double width = bar.value / most * (kWidth - kLabelWidth - kTextWidth);
      svg += Text(kLabelWidth - 8, y + 15, "end", "normal", bar.label);
      svg += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"/>\n",
                         kLabelWidth, y, width, kBarHeight, bar.label.starts_with("RedisBloom") ? kOther : kOwn);
      svg += Text(kLabelWidth + width + 6, y + 15, "start", "normal", bar.text);
      y += kBarStep;
    }
  }
  return svg + "</svg>\n";
}

constexpr const char* kTheirs = "RedisBloom's layout";

std::string Memory(const std::string& page) {
  std::vector<Group> groups;
  for (const auto& [rate, index] : {std::pair{"1%", 0}, {"0.01%", 2}}) {
    Group group{.title = fmt::format("Memory at an error rate of {}", rate), .bars = {}};
    for (const char* type : {"ribbon", "blocked", "cuckoo", "redisbloom"}) {
      const double bits = Number(Cell(page, type, 1), '/', static_cast<size_t>(index));
      const bool theirs = type == std::string_view("redisbloom");
      group.bars.push_back({theirs ? kTheirs : type, bits, fmt::format("{:.1f} bits/item", bits)});
    }
    groups.push_back(std::move(group));
  }
  return Svg(groups);
}

std::string Speed(const std::string& page) {
  Group group{.title = "Lookup in a filter of 100 million items, per item", .bars = {}};
  for (const char* type : {"blocked", "cuckoo", "redisbloom"}) {
    const std::string cell = Cell(page, type, 4);
    const bool theirs = type == std::string_view("redisbloom");
    for (const auto& [what, index] : {std::pair{"found", 1}, {"absent", 2}}) {
      const double ns = Number(cell, ',', static_cast<size_t>(index));
      group.bars.push_back({fmt::format("{}, {}", theirs ? kTheirs : type, what), ns, fmt::format("{:.0f} ns", ns)});
    }
  }
  return Svg({group});
}

}  // namespace

TypePictures PicturesOf(const std::string& page) { return {.memory = Memory(page), .speed = Speed(page)}; }

}  // namespace bitsieve::lint
