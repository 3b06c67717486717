// test_and_set_bit.h: sets a bit of an array and counts if it was set. A free function. Other threads may read the
// array at the same time, since a word is loaded and stored by relaxed atomic accesses. Writers exclude each other.
#pragma once

#include <cstdint>

namespace bitsieve::core {

// Sets bit `place` of the array of 64-bit words, and adds 1 to `were_set` if it was set. GCC 12 makes ten instructions
// of the portable form, which are half of an addition to a Bloom filter. Sanitizers see only the portable form.
inline void TestAndSetBit(uint64_t* words, uint64_t place, uint64_t& were_set) {
  uint64_t* const at = words + place / 64;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  uint64_t word;
  asm("mov %0, %1\n\tbts %3, %1\n\tadc $0, %2\n\tmov %1, %0"
      : "+m"(*at), "=&a"(word), "+&r"(were_set)
      : "r"(place)
      : "cc");
#else
  const uint64_t word = __atomic_load_n(at, __ATOMIC_RELAXED);
  were_set += word >> (place % 64) & 1;
  __atomic_store_n(at, word | uint64_t{1} << (place % 64), __ATOMIC_RELAXED);
#endif
}

}  // namespace bitsieve::core
