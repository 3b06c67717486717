// murmur_hash2.h: Austin Appleby's second MurmurHash, in the two forms that RedisBloom's files depend on. Neither has
// an avalanche as good as XXH3's; they are here for compatibility alone. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace bitsieve::core {

// MurmurHash64A: 8 bytes at a time, little-endian, whatever the machine.
uint64_t MurmurHash64A(std::string_view bytes, uint64_t seed);
// MurmurHash2: 4 bytes at a time, little-endian, whatever the machine. The length counts modulo 2^32.
uint32_t MurmurHash2(std::string_view bytes, uint32_t seed);

}  // namespace bitsieve::core
