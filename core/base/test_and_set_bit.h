// test_and_set_bit.h: sets a bit of a word and counts if it was set. Thread-safe: a free function.
#pragma once

#include <cstdint>

namespace bitsieve::core {

// Sets bit `place` modulo 64 of the word, and adds 1 to `were_set` if it was set. GCC 12 makes eight instructions of
// the portable form, which are a third of an addition to a Bloom filter.
inline void TestAndSetBit(uint64_t& word, uint64_t place, uint64_t& were_set) {
#if defined(__x86_64__)
  asm("bts %2, %0\n\tadc $0, %1" : "+&r"(word), "+&r"(were_set) : "r"(place) : "cc");
#else
  were_set += word >> (place % 64) & 1;
  word |= uint64_t{1} << (place % 64);
#endif
}

}  // namespace bitsieve::core
