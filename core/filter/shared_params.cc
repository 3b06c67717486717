#include "core/filter/shared_params.h"

#include <array>
#include <memory>

#include "core/base/mutex.h"

namespace bitsieve::core {

namespace {

// The parameters that were made last.
struct Latest {
  Mutex mutex;
  std::array<IntrusivePtr<const SharedParams>, 16> made BITSIEVE_GUARDED_BY(mutex);
  size_t oldest BITSIEVE_GUARDED_BY(mutex) = 0;
};

}  // namespace

IntrusivePtr<const SharedParams> SharedParams::Of(const FilterParams& params, MemoryBudget& budget) {
  // Never destroyed: filters may outlive static objects. Not one for each thread: to register a destructor for the end
  // of a thread takes memory, and glibc ends the process if that is refused.
  static auto& latest = *new Latest;
  FilterParams all_but_seed = params;
  all_but_seed.seed = 0;
  const LockGuard lock(latest.mutex);
  for (const auto& each : latest.made) {
    if (each && &each->budget == &budget && each->params == all_but_seed) return each;
  }
  IntrusivePtr<const SharedParams> made(std::unique_ptr<const SharedParams>(new SharedParams(all_but_seed, budget)));
  latest.made[latest.oldest] = made;
  latest.oldest = (latest.oldest + 1) % latest.made.size();
  return made;
}

}  // namespace bitsieve::core
