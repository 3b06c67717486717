// valkey_bloom_type.h: the filter type that is valkey-bloom's, byte for byte, and its parameters of its own: the seed
// of 32 bytes. Thread-safe: constants and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

extern const FilterTypeRow kValkeyBloomRow;

inline constexpr size_t kValkeySeedBytes = 32;

// The seed as words of 64 bits, little-endian. The defaults are valkey-bloom's fixed seed.
inline constexpr std::array kValkeySeedWords{
    OwnParam{.number = 1, .name = "seed word 1", .default_value = 0xda1178ea22f50f59},
    OwnParam{.number = 2, .name = "seed word 2", .default_value = 0xd97b3e3b09d814a7},
    OwnParam{.number = 3, .name = "seed word 3", .default_value = 0x8788983e738a891d},
    OwnParam{.number = 4, .name = "seed word 4", .default_value = 0x83330728cd977f30}};

// Returns the 32 bytes of the seed.
std::string ValkeySeedOf(const FilterParams& params);
// Sets them. The seed has 32 bytes.
void SetValkeySeed(FilterParams& params, std::string_view seed);
// Returns whether it is valkey-bloom's fixed seed.
inline bool HasFixedValkeySeed(const FilterParams& params) { return params.own == OwnParams{}; }

}  // namespace bitsieve::core
