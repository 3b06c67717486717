#include "core/filters/filter.h"

#include <algorithm>
#include <cassert>

namespace bitsieve::core {

// Callers ask capabilities() first. With assertions off, nothing is removed and nothing is counted.

void Filter::Remove(std::span<const KeyHash>, std::span<uint8_t> removed) {
  assert(capabilities().remove && "this kind cannot remove items");
  std::fill(removed.begin(), removed.end(), uint8_t{0});
}

void Filter::Count(std::span<const KeyHash>, std::span<uint64_t> counts) const {
  assert(capabilities().count && "this kind cannot count items");
  std::fill(counts.begin(), counts.end(), uint64_t{0});
}

}  // namespace bitsieve::core
