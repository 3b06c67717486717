#include "core/filter/shared_params.h"

#include <array>
#include <memory>

namespace bitsieve::core {

IntrusivePtr<const SharedParams> SharedParams::Of(const FilterParams& params, MemoryBudget& budget) {
  thread_local std::array<IntrusivePtr<const SharedParams>, 16> latest;
  thread_local size_t oldest = 0;
  FilterParams all_but_seed = params;
  all_but_seed.seed = 0;
  for (const auto& each : latest) {
    if (each && &each->budget == &budget && each->params == all_but_seed) return each;
  }
  auto& made = latest[oldest];
  oldest = (oldest + 1) % latest.size();
  made = std::unique_ptr<const SharedParams>(new SharedParams(all_but_seed, budget));
  return made;
}

}  // namespace bitsieve::core
