// The kernel for x86 processors that count the bits of eight words in one instruction (AVX-512 VPOPCNTDQ).
#include <immintrin.h>

#include "core/families/ribbon/ribbon_kernel_loops.h"

namespace bitsieve::core {
namespace {

struct AllEight {
  BITSIEVE_ALWAYS_INLINE static uint32_t Parities(const uint64_t* const blocks[3], const RibbonMasks& masks) {
    const __m512i words =
        _mm512_xor_si512(_mm512_xor_si512(Masked(blocks[0], masks.word[0]), Masked(blocks[1], masks.word[1])),
                         Masked(blocks[2], masks.word[2]));
    return _mm512_test_epi64_mask(_mm512_popcnt_epi64(words), _mm512_set1_epi64(1));
  }

  BITSIEVE_ALWAYS_INLINE static void Solve(SolvedWindow& window, const RibbonRow& row, uint32_t first) {
    const __m512i old_low = _mm512_load_si512(window.low + first);
    const __m512i old_high = _mm512_load_si512(window.high + first);
    const __m512i high = _mm512_or_si512(_mm512_slli_epi64(old_high, 1), _mm512_srli_epi64(old_low, 63));
    const __m512i low = _mm512_slli_epi64(old_low, 1);
    const __m512i others = _mm512_popcnt_epi64(_mm512_xor_si512(And(low, row.low), And(high, row.high)));
    const __m512i columns = _mm512_add_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), _mm512_set1_epi64(first));
    const __m512i results = _mm512_srlv_epi64(_mm512_set1_epi64(row.result), columns);
    const __m512i solved = And(_mm512_xor_si512(others, results), 1);
    _mm512_store_si512(window.low + first, _mm512_or_si512(low, solved));
    _mm512_store_si512(window.high + first, high);
  }

 private:
  BITSIEVE_ALWAYS_INLINE static __m512i And(__m512i words, uint64_t mask) {
    return _mm512_and_si512(words, _mm512_set1_epi64(static_cast<long long>(mask)));
  }
  BITSIEVE_ALWAYS_INLINE static __m512i Masked(const uint64_t* words, uint64_t mask) {
    return And(_mm512_loadu_si512(words), mask);
  }
};

}  // namespace

extern const RibbonKernel kAvx512RibbonKernel;
const RibbonKernel kAvx512RibbonKernel{"avx512", MayContainLoop<AllEight>, SubstituteLoop<AllEight>};

}  // namespace bitsieve::core
