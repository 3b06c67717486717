#include "cli/client/units.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/parse.h"
#include "core/filter/filter_params.h"

namespace bitsieve::cli {
namespace {

struct Unit {
  char name;
  double factor;
};
constexpr std::array kCountUnits{Unit{'k', 1e3}, Unit{'m', 1e6}, Unit{'g', 1e9}};
constexpr std::array kTimeUnits{Unit{'s', 1}, Unit{'m', 60}, Unit{'h', 3600}, Unit{'d', 86400}};

template <size_t kSize>
std::optional<double> FactorOf(const std::array<Unit, kSize>& units, char name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

// A finite positive number, with a unit or without.
std::optional<double> ParseScaled(std::string_view text) {
  double factor = 1;
  const std::string lower = core::LowerCase(text);
  std::string_view digits = lower;
  if (const auto unit = lower.empty() ? std::nullopt : FactorOf(kCountUnits, lower.back())) {
    factor = *unit;
    digits.remove_suffix(1);
  }
  const std::optional<double> number = core::ParseDouble(digits);
  if (!number || !std::isfinite(*number) || *number <= 0) return std::nullopt;
  return *number * factor;
}

}  // namespace

std::optional<uint64_t> ParseCount(std::string_view text, uint64_t most) {
  const std::optional<double> number = ParseScaled(text);
  if (!number || *number != std::floor(*number) || *number < 1 || *number > static_cast<double>(most)) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(*number);
}

std::optional<double> ParseErrorRate(std::string_view text) {
  const bool is_percent = text.ends_with('%');
  std::optional<double> rate = core::ParseDouble(text.substr(0, text.size() - (is_percent ? 1 : 0)));
  if (rate && is_percent) rate = *rate / 100;
  if (!rate || !(*rate >= core::kMinErrorRate && *rate < 1)) return std::nullopt;
  return std::min(*rate, core::kMaxErrorRate);
}

std::optional<double> ParseItemRate(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash + 2 != text.size()) return std::nullopt;
  const std::optional<double> number = ParseScaled(text.substr(0, slash));
  const std::optional<double> seconds = FactorOf(kTimeUnits, text.back());
  if (!number || !seconds) return std::nullopt;
  return *number / *seconds;
}

std::string CountText(uint64_t count) {
  std::string text = std::to_string(count);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string MemoryText(uint64_t bytes) {
  constexpr std::array kNames{"bytes", "KB", "MB", "GB", "TB", "PB"};
  constexpr double kNextUnit = 1023.5;  // what would be rounded to 1024
  auto number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= kNextUnit && unit + 1 < kNames.size(); ++unit) number /= 1024;
  if (unit == 0) return fmt::format("{} bytes", bytes);
  return fmt::format("{:.{}f} {}", number, number < 10 ? 2 : number < 100 ? 1 : 0, kNames[unit]);
}

std::string SizeText(uint64_t bytes) {
  constexpr std::array kNames{"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  constexpr double kStep = 1000;
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= kStep && unit + 1 < kNames.size(); ++unit) size /= kStep;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", size, kNames[unit]);
}

std::string PercentText(double rate) {
  const double percent = rate * 100;
  if (percent <= 0) return "0%";
  std::string text =
      fmt::format("{:.{}f}", percent, std::max(0, 2 - static_cast<int>(std::floor(std::log10(percent)))));
  if (text.find('.') != std::string::npos) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + "%";
}

}  // namespace bitsieve::cli
