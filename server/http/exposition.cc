#include "server/http/exposition.h"

#include <array>
#include <cmath>
#include <vector>

#include "core/base/parse.h"

namespace bitsieve::server {
namespace {

constexpr std::string_view kCounterSuffix = "_total";

std::string_view NameOf(FamilyType type) {
  switch (type) {
    case FamilyType::kCounter:
      return "counter";
    case FamilyType::kGauge:
      return "gauge";
    case FamilyType::kHistogram:
      break;
  }
  return "histogram";
}

// Whole numbers exactly.
std::string NumberText(double value) {
  constexpr double kExact = 1ULL << 53;
  if (std::floor(value) == value && std::fabs(value) <= kExact) return std::to_string(static_cast<int64_t>(value));
  return core::ShortestText(value);
}

void AppendEscaped(std::string_view value, std::string& text) {
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
}

}  // namespace

ExpositionFormat PreferredFormat(std::string_view accept) {
  const bool open = accept.find("application/openmetrics-text") != std::string_view::npos;
  return open ? ExpositionFormat::kOpenMetrics : ExpositionFormat::kPrometheus;
}

std::string_view ContentType(ExpositionFormat format) {
  return format == ExpositionFormat::kOpenMetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                                  : "text/plain; version=0.0.4; charset=utf-8";
}

// OpenMetrics names the family of a counter without the suffix that its samples have.
void Exposition::BeginFamily(std::string_view name, FamilyType type, std::string_view help) {
  family_ = name;
  if (format_ == ExpositionFormat::kOpenMetrics && name.ends_with(kCounterSuffix)) {
    name.remove_suffix(kCounterSuffix.size());
  }
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(NameOf(type)).append("\n");
}

void Exposition::AddSample(std::string_view suffix, std::span<const Label> labels, double value) {
  text_.append(family_).append(suffix);
  char before = '{';
  for (const auto& [label, text] : labels) {
    text_ += before;
    text_.append(label).append("=\"");
    AppendEscaped(text, text_);
    text_ += '"';
    before = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_.append(" ").append(NumberText(value)).append("\n");
}

void Exposition::AddHistogram(const Label& label, std::span<const double> bounds, std::span<const uint64_t> counts,
                              double sum) {
  uint64_t count = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    count += counts[i];
    const std::string bound = i < bounds.size() ? core::RoundedText(bounds[i], 6) : "+Inf";
    AddSample("_bucket", std::array{label, Label("le", bound)}, static_cast<double>(count));
  }
  AddSample("_sum", std::array{label}, sum);
  AddSample("_count", std::array{label}, static_cast<double>(count));
}

std::string Exposition::Finish() && {
  if (format_ == ExpositionFormat::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace bitsieve::server
