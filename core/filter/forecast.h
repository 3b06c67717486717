// forecast.h: what a filter will be once it holds a given number of items: its memory, its sub-filters and its error
// rate. Worked out by the functions that size and grow filters, without making one: it takes microseconds and no
// memory. Thread-safe: plain values and pure functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

struct Forecast {
  uint64_t items = 0;       // that it holds: fewer than was asked for if it takes no more
  uint64_t capacity = 0;    // over all sub-filters
  uint64_t size_bytes = 0;  // as FilterInfo; of the type ribbon: once it is frozen, to within a thousandth
  uint64_t peak_bytes = 0;  // the most that it takes on the way there; differs from the size only in the type ribbon
  uint32_t sub_filters = 0;
  uint32_t hash_functions = 0;    // as FilterInfo
  uint32_t fingerprint_bits = 0;  // as FilterInfo
  double error_rate = 0;          // expected, of a lookup of an absent item
};

// Forecasts an empty filter of these parameters after items were added, all different, until it counts `items`.
// kInvalidArgument as MakeFilter; kUnsupported for a type that BF.RESERVE does not make.
Result<Forecast> ForecastOf(const FilterParams& params, uint64_t items);

// Forecasts a chain of sub-filters that begins with one of the shape `first`, which has a capacity. describe(shape,
// forecast) adds what the newest sub-filter has to the forecast's sizes and numbers of bits; rate(shape, items) returns
// its error rate with `items` items, at least one; next(shape, forecast) returns the shape of the sub-filter after it,
// nothing if there can be none.
template <class Shape, class Describe, class Rate, class Next>
Forecast ForecastOfChain(const Shape& first, uint64_t items, const Describe& describe, const Rate& rate,
                         const Next& next) {
  Forecast forecast;
  double none = 0;  // the logarithm of the chance that no sub-filter is wrong
  for (std::optional<Shape> shape = first; shape; shape = next(*shape, forecast)) {
    const uint64_t here = std::min(items - forecast.items, shape->capacity);
    forecast.items += here;
    forecast.capacity += shape->capacity;
    ++forecast.sub_filters;
    describe(*shape, forecast);
    if (here != 0) none += std::log1p(-rate(*shape, static_cast<double>(here)));
    if (forecast.items == items) break;
  }
  forecast.peak_bytes = forecast.size_bytes;
  forecast.error_rate = -std::expm1(none);
  return forecast;
}

}  // namespace bitsieve::core
