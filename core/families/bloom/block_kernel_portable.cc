// The kernel for any processor, lane by lane, with relaxed atomics: the reference that the others are compared with,
// and the one that thread sanitizers can follow. Relaxed: the result of an add reaches other threads through a socket
// or a lock, and that orders these bits too; a reader that sees half of an item answers "absent", as it might have a
// moment earlier.
#include <bit>

#include "core/families/bloom/block_kernel_loops.h"

namespace bitsieve::core {
namespace {

struct PortablePattern {
  uint32_t word;
  uint16_t lanes;
};

struct PortableLine {
  BITSIEVE_ALWAYS_INLINE static PortablePattern Pattern(uint32_t word, uint16_t lanes) { return {word, lanes}; }

  BITSIEVE_ALWAYS_INLINE static bool Covers(const std::byte* line, PortablePattern pattern) {
    uint32_t missing = 0;
    for (uint32_t rest = pattern.lanes; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      missing |= BitOf(pattern, lane) & ~LoadLane(line, lane);
    }
    return missing == 0;
  }

  BITSIEVE_ALWAYS_INLINE static unsigned Set(std::byte* line, PortablePattern pattern) {
    unsigned bits_set = 0;
    for (uint32_t rest = pattern.lanes; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint32_t before = LoadLane(line, lane);
      const uint32_t after = before | BitOf(pattern, lane);
      bits_set += after != before;
      __atomic_store_n(LanePointer(line, lane), after, __ATOMIC_RELAXED);
    }
    return bits_set;
  }

 private:
  BITSIEVE_ALWAYS_INLINE static uint32_t* LanePointer(std::byte* line, int lane) {
    return reinterpret_cast<uint32_t*>(line) + lane;
  }
  BITSIEVE_ALWAYS_INLINE static uint32_t LoadLane(const std::byte* line, int lane) {
    return __atomic_load_n(reinterpret_cast<const uint32_t*>(line) + lane, __ATOMIC_RELAXED);
  }
  BITSIEVE_ALWAYS_INLINE static uint32_t BitOf(PortablePattern pattern, int lane) {
    return uint32_t{1} << ((pattern.word * kLaneSalts[static_cast<size_t>(lane)]) >> 27);
  }
};

}  // namespace

extern const BlockKernel kPortableBlockKernel;
const BlockKernel kPortableBlockKernel{"portable", &MayContain<PortableLine>, &Add<PortableLine>,
                                       &AddOne<PortableLine>};

}  // namespace bitsieve::core
