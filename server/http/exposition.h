// exposition.h: metrics as text for Prometheus (format 0.0.4) or in the OpenMetrics format (1.0). Thread-compatible.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/metrics/metric_table.h"

namespace bitsieve::server {

enum class ExpositionFormat { kPrometheus, kOpenMetrics };

// Returns the format that the value of an Accept header prefers.
ExpositionFormat PreferredFormat(std::string_view accept);
std::string_view ContentType(ExpositionFormat format);

enum class FamilyType { kCounter, kGauge, kHistogram };

class Exposition {
 public:
  using Label = std::pair<std::string_view, std::string_view>;

  explicit Exposition(ExpositionFormat format) : format_(format) {}

  // Samples that follow are of this family. `name` of a counter ends with "_total".
  void BeginFamily(std::string_view name, FamilyType type, std::string_view help);
  void Add(double value) { AddLabelled({}, value); }
  void AddLabelled(std::span<const Label> labels, double value) { AddSample("", labels, value); }
  // `counts[i]`: how many were at most `bounds[i]`, and more than the bound before; one more count than there are
  // bounds.
  void AddHistogram(const Label& label, std::span<const double> bounds, std::span<const uint64_t> counts, double sum);

  std::string Finish() &&;

 private:
  void AddSample(std::string_view suffix, std::span<const Label> labels, double value);

  const ExpositionFormat format_;
  std::string family_;
  std::string text_;
};

}  // namespace bitsieve::server
