// checksum.h: the one checksum of everything persisted: XXH3, 64 bits, seed 0. It finds damage, not forgery.
#pragma once

#include <cstdint>
#include <string_view>

namespace bitsieve::core {

uint64_t Checksum(std::string_view bytes);

}  // namespace bitsieve::core
