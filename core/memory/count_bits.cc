#include "core/memory/count_bits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <numeric>

#include "core/base/always_inline.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bitsieve::core {

namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);

// The next word, or what is left of one, of at least one byte.
BITSIEVE_ALWAYS_INLINE uint64_t TakeWord(std::span<const std::byte>& bytes) {
  uint64_t word = 0;
  const size_t size = bytes.size() < kWordBytes ? bytes.size() : kWordBytes;
  std::memcpy(&word, bytes.data(), size);
  bytes = bytes.subspan(size);
  return word;
}

BITSIEVE_ALWAYS_INLINE uint64_t CountByWords(std::span<const std::byte> bytes) {
  uint64_t bits = 0;
  while (!bytes.empty()) bits += static_cast<uint64_t>(std::popcount(TakeWord(bytes)));
  return bits;
}

#if defined(__x86_64__)
// The same code with an instruction for it, which the oldest processors of this kind lack.
__attribute__((target("popcnt"))) uint64_t CountWithPopcnt(std::span<const std::byte> bytes) {
  uint64_t bits = 0;
  while (!bytes.empty()) bits += static_cast<uint64_t>(__builtin_popcountll(TakeWord(bytes)));
  return bits;
}

// Eight words at a time.
__attribute__((target("avx512f,avx512vpopcntdq,popcnt"))) uint64_t CountWithAvx512(std::span<const std::byte> bytes) {
  __m512i counts = _mm512_setzero_si512();
  for (; bytes.size() >= sizeof counts; bytes = bytes.subspan(sizeof counts)) {
    counts = _mm512_add_epi64(counts, _mm512_popcnt_epi64(_mm512_loadu_si512(bytes.data())));
  }
  std::array<uint64_t, sizeof counts / kWordBytes> lanes;
  _mm512_storeu_si512(lanes.data(), counts);
  return std::accumulate(lanes.begin(), lanes.end(), CountWithPopcnt(bytes));
}
#endif

}  // namespace

uint64_t CountSetBits(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vpopcntdq")) return CountWithAvx512(bytes);
  if (__builtin_cpu_supports("popcnt")) return CountWithPopcnt(bytes);
#endif
  return CountByWords(bytes);
}

uint64_t CountSetFields(std::span<const std::byte> bytes, uint32_t field_bits) {
  assert(std::has_single_bit(field_bits) && field_bits <= 8);
  if (field_bits == 1) return CountSetBits(bytes);
  const uint64_t lowest_bits = ~uint64_t{0} / ((uint64_t{1} << field_bits) - 1);
  // Each field's bits are gathered in its lowest one, of many words at a time; a shift by 0 gathers nothing.
  const uint32_t by_two = field_bits >= 4 ? 2 : 0;
  const uint32_t by_four = field_bits == 8 ? 4 : 0;
  std::array<uint64_t, 64> words;
  uint64_t fields = 0;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), sizeof words);
    words[(size - 1) / kWordBytes] = 0;  // what a last word has beyond its bytes
    std::memcpy(words.data(), bytes.data(), size);
    const auto used = std::span(words).first((size + kWordBytes - 1) / kWordBytes);
    for (uint64_t& word : used) {
      word |= word >> 1;
      word |= word >> by_two;
      word |= word >> by_four;
      word &= lowest_bits;
    }
    fields += CountSetBits(std::as_bytes(used));
    bytes = bytes.subspan(size);
  }
  return fields;
}

}  // namespace bitsieve::core
