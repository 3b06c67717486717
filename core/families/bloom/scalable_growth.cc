// Sizing of the sub-filters of a scalable filter, which depends only on its parameters.
#include <algorithm>
#include <array>
#include <type_traits>

#include "core/families/bloom/scalable_filter.h"
#include "core/families/bloom/sizing.h"

namespace bitsieve::core {

namespace {

// Returns what the layout's shape_for returns. Sizing takes tens of microseconds, and most filters of a server are
// sized alike, so each thread caches the shapes that it computed last.
SubFilterShape ShapeFor(const SubFilterLayout& layout, uint64_t capacity, double rate, const FilterParams& params) {
  struct Sized {
    const SubFilterLayout* layout = nullptr;
    uint64_t capacity = 0;
    double rate = 0;
    OwnParams own = {};
    SubFilterShape shape = {};
  };
  thread_local std::array<Sized, 16> latest;
  static_assert(std::is_trivially_destructible_v<Sized>);
  thread_local size_t oldest = 0;
  for (const Sized& each : latest) {
    if (each.layout == &layout && each.capacity == capacity && each.rate == rate && each.own == params.own) {
      return each.shape;
    }
  }
  Sized& sized = latest[oldest];
  oldest = (oldest + 1) % latest.size();
  sized = {&layout, capacity, rate, params.own, layout.shape_for(capacity, rate, params)};
  return sized.shape;
}

}  // namespace

size_t ScalableFilter::ListRoom(const ChainType& type, const FilterParams& params) {
  constexpr uint64_t kMaxListedBytes = 1024;  // a larger first sub-filter was requested explicitly: take it at once
  if (!type.begins_as_list || !params.scaling()) return 0;
  const Result<SubFilterShape> shape = type.first_shape(type, params);
  if (!shape || shape->SizeBytes() > kMaxListedBytes) return 0;
  // The bits have room for one more: for the item that makes them necessary.
  return std::min<uint64_t>({HashList::kMaxHashes, shape->SizeBytes() / sizeof(KeyHash), shape->capacity - 1});
}

Result<SubFilterShape> ScalableFilter::FirstShape(const ChainType& type, const FilterParams& params) {
  const double rate = RateOfSubFilter(params, 0);
  if (rate < kMinSubFilterRate) {
    return Fail(ErrorCode::kInvalidArgument, "error rate of the first sub-filter would be below 1e-15");
  }
  return ShapeFor(type.layout, params.capacity, rate, params);
}

std::optional<SubFilterShape> ScalableFilter::NextShape(const ChainType& type, const FilterParams& params,
                                                        const ChainEnd& end) {
  const double rate = RateOfSubFilter(params, end.sub_filters);
  if (rate < kMinSubFilterRate) return std::nullopt;
  const uint64_t capacity = CapacityOfNextSubFilter(params, end.newest.capacity, end.total_capacity);
  return ShapeFor(type.layout, capacity, rate, params);
}

Result<Forecast> ScalableFilter::ForecastOf(const ChainType& type, const FilterParams& params, uint64_t items) {
  const Result<SubFilterShape> first = type.first_shape(type, params);
  if (!first) return tl::unexpected(first.error());
  if (const size_t room = ListRoom(type, params); room != 0 && items <= room) {
    const uint64_t size_bytes = OwnBytes() + HashList::BlockBytes(items);
    return Forecast{items, params.capacity, size_bytes, size_bytes, 1, first->hash_functions};
  }
  uint64_t hash_functions = 0;
  const auto describe = [&](const SubFilterShape& shape, Forecast& forecast) {
    hash_functions += shape.hash_functions;
    forecast.size_bytes += type.sub_filter_bytes(shape);
    forecast.hash_functions = shape.hash_functions;
  };
  const auto next = [&](const SubFilterShape& newest, const Forecast& forecast) {
    return params.scaling()
               ? type.next_shape(type, params, {newest, forecast.sub_filters, forecast.capacity, hash_functions})
               : std::nullopt;
  };
  Forecast forecast = ForecastOfChain(*first, items, describe, type.layout.rate_with, next);
  forecast.size_bytes += type.own_bytes(forecast.sub_filters);
  forecast.peak_bytes = forecast.size_bytes;
  return forecast;
}

}  // namespace bitsieve::core
