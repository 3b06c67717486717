#include "core/families/window/window_type.h"

#include <algorithm>
#include <array>

#include "core/base/duration.h"
#include "core/base/parse.h"
#include "core/families/window/window_codec.h"
#include "core/families/window/window_filter.h"

namespace bitsieve::core {

namespace {

Status ReadWindow(std::string_view text, FilterParams& params) {
  const std::optional<WindowSpan> window = ParseWindow(text);
  if (!window) {
    return OutOfRange("bad window: it must be a number of items in the range [1, " + std::to_string(kMaxCapacity) +
                      "], or a duration in the range [100ms, 3650d] in ms, s, m, h or d, such as 24h");
  }
  SetWindow(params, *window);
  return {};
}

// A window does not grow, and one of items has its size for a capacity.
Status SettleOptions(const StatedOptions& stated, FilterParams& params) {
  const WindowSpan window = WindowOf(params);
  if (!window.given()) {
    return OutOfRange("a window filter needs WINDOW, with a number of items or a duration such as 24h");
  }
  if (stated.expansion) return OutOfRange("a window filter does not grow: omit EXPANSION");
  params.expansion = 0;
  if (window.of_time()) {
    if (!stated.capacity) return OutOfRange("a window of time needs CAPACITY, the items expected within it");
  } else if (stated.capacity && params.capacity != window.items) {
    const std::string items = std::to_string(window.items);
    return OutOfRange("a window of " + items + " items must have the capacity " + items + ", not " +
                      std::to_string(params.capacity));
  } else {
    params.capacity = window.items;
  }
  return {};
}

Status ValidateWindow(const FilterParams& params) {
  if (Status status = ValidateCommon(params); !status) return status;
  const WindowSpan window = WindowOf(params);
  if (!window.given()) return OutOfRange("a filter of type window needs a window: a number of items, or a duration");
  if (window.items != 0 && window.of_time()) return OutOfRange("a window is of items or of time, not of both");
  if (params.scaling()) return OutOfRange("a filter of type window does not grow: its expansion must be 0");
  if (!window.of_time() && window.items != params.capacity) {
    return OutOfRange("the capacity of a window of items must be the window, " + std::to_string(window.items));
  }
  return {};
}

constexpr std::array kOwnParams{kWindowItems, kWindowMs};

constexpr TypeOption kWindowOption{
    .word = "WINDOW",
    .value = "window",
    .noun = "window",
    .notes =
        "It must be given: a number of items, which must be the capacity, or a duration such as 500ms, 90s, 30m, 24h "
        "or 7d, for which the capacity is the number of items expected within it.",
    .read = ReadWindow,
    .text = [](const FilterParams& params) { return WindowText(WindowOf(params)); }};

// In items, or in seconds.
InfoValue OldestAge(const Filter& filter, const FilterInfo& info) {
  if (WindowOf(filter.params()).of_time()) return static_cast<double>(info.window.oldest_age_ms) / 1000;
  return info.window.oldest_items;
}

constexpr std::array kWindowFields{
    InfoField{.selector = "WINDOW",
              .label = "Window",
              .meaning = "the window as given by WINDOW",
              .value = [](const Filter& filter,
                          const FilterInfo&) { return InfoValue(WindowText(WindowOf(filter.params()))); }},
    InfoField{.selector = "OLDEST",
              .label = "Oldest age",
              .meaning = "how far back the filter remembers at present, in items, or in seconds for a window of time",
              .value = OldestAge},
    InfoField{
        .selector = "GENERATIONS",
        .label = "Generations",
        .meaning = "the number of generations that it remembers",
        .value = [](const Filter&, const FilterInfo& info) { return InfoValue(uint64_t{info.window.generations}); }},
};

}  // namespace

std::optional<WindowSpan> ParseWindow(std::string_view text) {
  if (const std::optional<uint64_t> items = ParseUnsigned(text)) {
    return *items >= 1 && *items <= kMaxCapacity ? std::optional(WindowSpan{.items = *items}) : std::nullopt;
  }
  const std::optional<uint64_t> ms = ParseDuration(text, kMaxWindowMs);
  return ms && *ms >= kMinWindowMs ? std::optional(WindowSpan{.duration_ms = *ms}) : std::nullopt;
}

std::string WindowText(const WindowSpan& window) {
  return window.of_time() ? DurationText(window.duration_ms) : std::to_string(window.items);
}

constexpr FilterTypeRow kWindowRow{
    .type = kWindowType,
    .name = "window",
    .summary = "forgets: finds items seen within the last n items, or within a time",
    .can = {.grow = false, .repeats = true, .forget = true},
    .own_params = kOwnParams,
    .options = {&kWindowOption, 1},
    .info_fields = kWindowFields,
    .settle_options = SettleOptions,
    .validate = ValidateWindow,
    .make = [](const FilterParams& params, MemoryBudget& budget,
               const Clock& clock) { return WindowFilter::Make(params, budget, clock); },
    .open = OpenWindow,
    .summarize = [](std::string_view fields) { return SummaryOf(DecodeWindowHeader(fields)); },
    .forecast = WindowFilter::ForecastOf,
};

}  // namespace bitsieve::core
