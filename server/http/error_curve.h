// error_curve.h: how the false positive rate of a filter rises as it fills up. Thread-safe: pure functions.
#pragma once

#include <vector>

#include "core/filter/filter.h"

namespace bitsieve::server {

struct CurvePoint {
  double fill;  // items over capacity
  double error_rate;
};

// Taken off a small filter of the same parameters, which is filled step by step until it has as many sub-filters as
// `filter` and is full. Empty if the type knows no rate, or refuses so small a filter. Takes some milliseconds. May
// throw std::bad_alloc.
std::vector<CurvePoint> ErrorCurve(const core::Filter& filter);

}  // namespace bitsieve::server
