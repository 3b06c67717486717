// checksum_avx512.h: XXH3 for processors with AVX-512, whom checksum.cc asks for it. Thread-safe: free functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bitsieve::core {

uint64_t ChecksumAvx512(const void* bytes, size_t size);
// The state is an XXH3_state_t, which any version of the code may have begun.
void AddToChecksumAvx512(void* xxh3_state, const void* bytes, size_t size);

}  // namespace bitsieve::core
