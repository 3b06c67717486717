// The kernel for x86 processors with AVX2: a line is two registers of eight lanes.
// The line is loaded by an instruction that the compiler does not look into, since another thread may be setting bits;
// see the portable kernel for why any mix of old and new bits is a right answer.
#include <immintrin.h>

#include "core/families/bloom/block_kernel_loops.h"

namespace bitsieve::core {
namespace {

struct Avx2Pattern {
  __m256i low;
  __m256i high;
};

struct Avx2Line {
  BITSIEVE_ALWAYS_INLINE static Avx2Pattern Pattern(uint32_t word, uint16_t lanes) {
    return {Half(word, lanes & 0xFF, kLaneSalts.data()), Half(word, lanes >> 8, kLaneSalts.data() + 8)};
  }

  BITSIEVE_ALWAYS_INLINE static bool Covers(const std::byte* line, Avx2Pattern pattern) {
    return (_mm256_testc_si256(Load(line), pattern.low) & _mm256_testc_si256(Load(line + 32), pattern.high)) != 0;
  }

  BITSIEVE_ALWAYS_INLINE static unsigned Set(std::byte* line, Avx2Pattern pattern) {
    return SetHalf(line, pattern.low) + SetHalf(line + 32, pattern.high);
  }

 private:
  BITSIEVE_ALWAYS_INLINE static __m256i Half(uint32_t word, int lanes, const uint32_t* salts) {
    const __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(word)),
                                               _mm256_loadu_si256(reinterpret_cast<const __m256i*>(salts)));
    const __m256i bits = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
    const __m256i lane_bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i chosen = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(lanes), lane_bit), lane_bit);
    return _mm256_and_si256(bits, chosen);
  }
  BITSIEVE_ALWAYS_INLINE static __m256i Load(const std::byte* half) {
    __m256i value;
    asm volatile("vmovdqu %1, %0" : "=x"(value) : "m"(*reinterpret_cast<const __m256i_u*>(half)));
    return value;
  }
  BITSIEVE_ALWAYS_INLINE static unsigned SetHalf(std::byte* half, __m256i pattern) {
    const __m256i before = Load(half);
    const __m256i missing = _mm256_andnot_si256(before, pattern);
    _mm256_store_si256(reinterpret_cast<__m256i*>(half), _mm256_or_si256(before, pattern));
    // At most one bit is missing in a lane: count the lanes that miss something.
    const __m256i none = _mm256_cmpeq_epi32(missing, _mm256_setzero_si256());
    return 8U - static_cast<unsigned>(
                    __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(none)))));
  }
};

}  // namespace

extern const BlockKernel kAvx2BlockKernel;
const BlockKernel kAvx2BlockKernel{"avx2", &MayContain<Avx2Line>, &Add<Avx2Line>, &AddOne<Avx2Line>};

}  // namespace bitsieve::core
