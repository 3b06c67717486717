// The kernel for 64-bit Arm: a line is four registers of four lanes.
// The line is loaded by an instruction that the compiler does not look into, since another thread may be setting bits;
// see the portable kernel for why any mix of old and new bits is a right answer.
#include <arm_neon.h>

#include "core/families/bloom/block_kernel_loops.h"

namespace bitsieve::core {
namespace {

struct NeonPattern {
  uint32x4_t quarter[4];
};

struct NeonLine {
  BITSIEVE_ALWAYS_INLINE static NeonPattern Pattern(uint32_t word, uint16_t lanes) {
    return {{Quarter(word, lanes, 0), Quarter(word, lanes, 4), Quarter(word, lanes, 8), Quarter(word, lanes, 12)}};
  }

  BITSIEVE_ALWAYS_INLINE static bool Covers(const std::byte* line, const NeonPattern& pattern) {
    uint32x4_t missing = vdupq_n_u32(0);
    for (unsigned i = 0; i < 4; ++i) missing = vorrq_u32(missing, vbicq_u32(pattern.quarter[i], Load(line + 16 * i)));
    return vmaxvq_u32(missing) == 0;
  }

  BITSIEVE_ALWAYS_INLINE static unsigned Set(std::byte* line, const NeonPattern& pattern) {
    unsigned bits_set = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const uint32x4_t before = Load(line + 16 * i);
      const uint32x4_t missing = vbicq_u32(pattern.quarter[i], before);
      vst1q_u32(reinterpret_cast<uint32_t*>(line + 16 * i), vorrq_u32(before, pattern.quarter[i]));
      // At most one bit is missing in a lane: count the lanes that miss something.
      bits_set += vaddvq_u32(vshrq_n_u32(vtstq_u32(missing, missing), 31));
    }
    return bits_set;
  }

 private:
  BITSIEVE_ALWAYS_INLINE static uint32x4_t Quarter(uint32_t word, uint16_t lanes, unsigned first) {
    static constexpr uint32_t kBit[4] = {1, 2, 4, 8};
    const uint32x4_t product = vmulq_u32(vdupq_n_u32(word), vld1q_u32(kLaneSalts.data() + first));
    const uint32x4_t bits = vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(vshrq_n_u32(product, 27)));
    return vandq_u32(bits, vtstq_u32(vdupq_n_u32(static_cast<uint32_t>(lanes) >> first), vld1q_u32(kBit)));
  }
  BITSIEVE_ALWAYS_INLINE static uint32x4_t Load(const std::byte* quarter) {
    uint32x4_t value;
    asm volatile("ldr %q0, %1" : "=w"(value) : "m"(*reinterpret_cast<const uint32x4_t*>(quarter)));
    return value;
  }
};

}  // namespace

extern const BlockKernel kNeonBlockKernel;
const BlockKernel kNeonBlockKernel{"neon", &MayContain<NeonLine>, &Add<NeonLine>, &AddOne<NeonLine>};

}  // namespace bitsieve::core
