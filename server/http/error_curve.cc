#include "server/http/error_curve.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"

namespace bitsieve::server {
namespace {

constexpr uint64_t kMaxItems = 50'000;  // of the small filter
constexpr uint64_t kFewestItems = 64;   // of its first sub-filter
constexpr uint64_t kSteps = 60;

// Returns the capacity of the first sub-filter of a chain of `sub_filters` that ends within kMaxItems.
uint64_t FirstCapacity(const core::FilterParams& params, uint32_t sub_filters) {
  double share = 1, all = 1;
  for (uint32_t i = 1; i < sub_filters && params.scaling() && all < static_cast<double>(kMaxItems); ++i) {
    share *= params.expansion;
    all += share;
  }
  const auto first = static_cast<uint64_t>(static_cast<double>(kMaxItems) / all);
  return std::min(params.capacity, std::max(first, kFewestItems));
}

// The number of items added; fewer than `count` if the filter takes no more.
uint64_t AddItems(core::Filter& filter, uint64_t first, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t item = first + i;
    const core::KeyHash hash = filter.HashOf({reinterpret_cast<const char*>(&item), sizeof item});
    core::AddOutcome outcome{};
    if (filter.Add({&hash, 1}, {&outcome, 1}) == 0 || core::IsRefused(outcome)) return i;
  }
  return count;
}

}  // namespace

std::vector<CurvePoint> ErrorCurve(const core::Filter& filter) {
  const uint32_t sub_filters = std::max<uint32_t>(1, filter.SubFilters());
  core::FilterParams params = filter.params();
  params.capacity = FirstCapacity(params, sub_filters);
  core::MemoryBudget memory;
  const auto model = core::MakeFilter(params, memory, core::SystemClock());
  if (!model) return {};
  // Until it grows once more than the filter has.
  std::vector<std::pair<uint64_t, double>> rates;
  uint64_t items = 0, capacity = 0;
  while (items < 2 * kMaxItems) {
    const uint64_t step = std::max<uint64_t>(1, (*model)->Info().capacity / kSteps);
    const uint64_t added = AddItems(**model, items, step);
    items += added;
    const core::FilterInfo info = (*model)->Info();
    const auto rate = (*model)->EstimatedErrorRate();
    if (info.sub_filters > sub_filters || !rate) break;
    capacity = info.capacity;
    rates.emplace_back(items, *rate);
    if (added < step || items >= capacity * 2) break;
  }
  std::vector<CurvePoint> points;
  for (const auto& [at, rate] : rates) {
    points.push_back({static_cast<double>(at) / static_cast<double>(capacity), rate});
  }
  return points;
}

}  // namespace bitsieve::server
