// The kernel for x86 processors with AVX-512: a line is one register.
// The line is loaded by an instruction that the compiler does not look into, since another thread may be setting bits;
// see the portable kernel for why any mix of old and new bits is a right answer.
#include <immintrin.h>

#include "core/families/bloom/block_kernel_loops.h"

namespace bitsieve::core {
namespace {

struct Avx512Pattern {
  __m512i bits;
  uint16_t lanes;
};

struct Avx512Line {
  BITSIEVE_ALWAYS_INLINE static Avx512Pattern Pattern(uint32_t word, uint16_t lanes) {
    const __m512i product =
        _mm512_mullo_epi32(_mm512_set1_epi32(static_cast<int>(word)), _mm512_loadu_si512(kLaneSalts.data()));
    return {_mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32(product, 27)), lanes};
  }

  BITSIEVE_ALWAYS_INLINE static bool Covers(const std::byte* line, Avx512Pattern pattern) {
    return Missing(Load(line), pattern) == 0;
  }

  BITSIEVE_ALWAYS_INLINE static unsigned Set(std::byte* line, Avx512Pattern pattern) {
    const __m512i before = Load(line);
    _mm512_store_si512(line, _mm512_mask_or_epi32(before, pattern.lanes, before, pattern.bits));
    return static_cast<unsigned>(__builtin_popcount(Missing(before, pattern)));
  }

 private:
  BITSIEVE_ALWAYS_INLINE static __m512i Load(const std::byte* line) {
    __m512i value;
    asm volatile("vmovdqu64 %1, %0" : "=v"(value) : "m"(*reinterpret_cast<const __m512i_u*>(line)));
    return value;
  }
  // The chosen lanes whose bit is clear.
  BITSIEVE_ALWAYS_INLINE static unsigned Missing(__m512i line, Avx512Pattern pattern) {
    return _mm512_mask_testn_epi32_mask(pattern.lanes, line, pattern.bits);
  }
};

}  // namespace

extern const BlockKernel kAvx512BlockKernel;
const BlockKernel kAvx512BlockKernel{"avx512", &MayContain<Avx512Line>, &Add<Avx512Line>, &AddOne<Avx512Line>};

}  // namespace bitsieve::core
