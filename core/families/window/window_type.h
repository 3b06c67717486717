// window_type.h: the filter type window and what a window is, as a parameter and as text.
// Thread-safe: constants and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

inline constexpr FilterType kWindowType{6};
extern const FilterTypeRow kWindowRow;

inline constexpr uint64_t kMinWindowMs = 100;
inline constexpr uint64_t kMaxWindowMs = 10ULL * 365 * 24 * 3600 * 1000;

// The items that a filter remembers: the last `items`, which are as many as its capacity, or all of the last
// `duration_ms`. One of the two numbers is 0.
struct WindowSpan {
  uint64_t items = 0;
  uint64_t duration_ms = 0;

  bool given() const { return items != 0 || duration_ms != 0; }
  bool of_time() const { return duration_ms != 0; }
  bool operator==(const WindowSpan&) const = default;
};

// The parameters of the type, one of which is 0.
inline constexpr OwnParam kWindowItems{.number = 1, .name = "window of items", .default_value = 0, .max = kMaxCapacity};
inline constexpr OwnParam kWindowMs{
    .number = 2, .name = "window in milliseconds", .default_value = 0, .min = kMinWindowMs, .max = kMaxWindowMs};
inline WindowSpan WindowOf(const FilterParams& params) {
  return {params.own.Get(kWindowItems), params.own.Get(kWindowMs)};
}
inline void SetWindow(FilterParams& params, const WindowSpan& window) {
  params.own.Set(kWindowItems, window.items);
  params.own.Set(kWindowMs, window.duration_ms);
}

// A number of items, or a number and one of the units ms, s, m, h, d. Nothing for another text, for zero, and for what
// is beyond any window.
std::optional<WindowSpan> ParseWindow(std::string_view text);
// The same in its shortest form: a duration in the largest unit that it is a whole number of.
std::string WindowText(const WindowSpan& window);

}  // namespace bitsieve::core
