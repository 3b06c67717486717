#include "core/families/bloom/block_kernel.h"

#include <cassert>
#include <utility>
#include <vector>

namespace bitsieve::core {

extern const BlockKernel kPortableBlockKernel;
extern const BlockKernel kAvx2BlockKernel;
extern const BlockKernel kAvx512BlockKernel;
extern const BlockKernel kNeonBlockKernel;

namespace {

// splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014): the stream of the lane sets.
uint64_t NextRandom(uint64_t& state) {
  uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// The first k steps of a Fisher-Yates shuffle of the lanes.
uint16_t RandomLaneSet(unsigned k, uint64_t& state) {
  std::array<uint8_t, kLanes> lanes;
  for (unsigned i = 0; i < kLanes; ++i) lanes[i] = static_cast<uint8_t>(i);
  uint32_t set = 0;
  for (unsigned i = 0; i < k; ++i) {
    const auto pick = static_cast<unsigned>(i + MultiplyHigh(NextRandom(state), kLanes - i));
    std::swap(lanes[i], lanes[pick]);
    set |= 1U << lanes[i];
  }
  return static_cast<uint16_t>(set);
}

using LaneSetTable = std::array<std::array<uint16_t, kLaneSets>, kLanes + 1>;

LaneSetTable MakeLaneSetTable() {
  LaneSetTable table{};
  for (unsigned k = 1; k <= kLanes; ++k) {
    uint64_t state = k;
    for (uint16_t& set : table[k]) set = RandomLaneSet(k, state);
  }
  return table;
}

std::vector<const BlockKernel*> RunnableKernels() {
  std::vector<const BlockKernel*> kernels;
#if !defined(__SANITIZE_THREAD__)  // the vector kernels' loads cannot be followed by the thread sanitizer
#if defined(BITSIEVE_X86_KERNELS)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt")) kernels.push_back(&kAvx512BlockKernel);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) kernels.push_back(&kAvx2BlockKernel);
#elif defined(BITSIEVE_NEON_KERNEL)
  kernels.push_back(&kNeonBlockKernel);
#endif
#endif
  kernels.push_back(&kPortableBlockKernel);
  return kernels;
}

}  // namespace

std::span<const uint16_t, kLaneSets> LaneSets(unsigned k) {
  assert(k >= 1 && k <= kLanes);
  static const LaneSetTable table = MakeLaneSetTable();
  return table[k];
}

std::span<const BlockKernel* const> BlockKernels() {
  static const std::vector<const BlockKernel*> kernels = RunnableKernels();
  return kernels;
}

}  // namespace bitsieve::core
