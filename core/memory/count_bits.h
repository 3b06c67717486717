// count_bits.h: how many bits of a piece of memory are set, with the processor's instructions for that where it has
// them. Thread-safe: a free function; the bytes must not change during the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bitsieve::core {

// Bytes of any length, beginning anywhere.
uint64_t CountSetBits(std::span<const std::byte> bytes);

// The bytes are fields of field_bits, a power of two up to 8: how many of them are not 0.
uint64_t CountSetFields(std::span<const std::byte> bytes, uint32_t field_bits);

}  // namespace bitsieve::core
