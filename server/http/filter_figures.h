// filter_figures.h: what the admin port shows of one filter. Thread-compatible: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/filter/filter.h"

namespace bitsieve::server {

struct FilterFigures {
  std::string name;
  std::string_view type;
  uint64_t items = 0;
  uint64_t capacity = 0;
  uint64_t size_bytes = 0;
  uint32_t sub_filters = 0;
  double requested_error_rate = 0;
  std::optional<double> estimated_error_rate;  // nothing if it is not known
  std::optional<core::FilterUse> use;          // nothing if it is not counted

  // Returns items over capacity.
  double Fill() const { return capacity == 0 ? 0 : static_cast<double>(items) / static_cast<double>(capacity); }
};

// Returns the figures as they are now. Takes as long as EstimatedErrorRate().
inline FilterFigures FiguresOf(std::string name, const core::Filter& filter) {
  const core::FilterInfo info = filter.Info();
  return {.name = std::move(name),
          .type = filter.type().name,
          .items = info.items,
          .capacity = info.capacity,
          .size_bytes = info.size_bytes,
          .sub_filters = info.sub_filters,
          .requested_error_rate = filter.params().error_rate,
          .estimated_error_rate = filter.EstimatedErrorRate(),
          .use = filter.Use()};
}

}  // namespace bitsieve::server
