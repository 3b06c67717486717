// murmur_hash3.h: MurmurHash3_x64_128, Austin Appleby's third (public domain). Well mixed and found in every language,
// but not for input that an attacker chooses: items that collide under every seed are known how to make (Aumasson,
// Bernstein, "SipHash: a fast short-input PRF", 2012, section 7). Thread-safe: a pure function.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/hash/key_hash.h"

namespace bitsieve::core {

// Published with a seed of 32 bits, of which both halves of the state start; here it has 64, and a seed below 2^32
// gives what is published. Little-endian, whatever the machine.
KeyHash MurmurHash3(std::string_view bytes, uint64_t seed);

}  // namespace bitsieve::core
