#include "core/filter/sampled_error_rate.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/hash/mix64.h"

namespace bitsieve::core {

std::optional<double> SampledErrorRate(const Filter& filter, uint32_t tables) {
  constexpr uint64_t kLookups = 1 << 18;  // of one table: a millisecond or two
  constexpr uint64_t kFewest = 1 << 12;
  constexpr uint64_t kEnoughFound = 200;  // a standard deviation of 7%
  constexpr size_t kBatch = 64;
  const uint64_t lookups = std::max(kFewest, kLookups / std::max(tables, 1U));
  std::array<KeyHash, kBatch> hashes;
  std::array<uint8_t, kBatch> present;
  uint64_t found = 0;
  for (uint64_t i = 0; i < lookups; i += kBatch) {
    for (size_t j = 0; j < kBatch; ++j) hashes[j] = {Mix64(2 * (i + j)), Mix64(2 * (i + j) + 1)};
    filter.MayContain(hashes, present);
    found += std::accumulate(present.begin(), present.end(), uint64_t{0});
  }
  if (found < kEnoughFound) return std::nullopt;
  return static_cast<double>(found) / static_cast<double>(lookups);
}

}  // namespace bitsieve::core
