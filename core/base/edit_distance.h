// edit_distance.h: how far one word is from another, to guess what was meant by a name that is unknown.
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace bitsieve::core {

// Insertions, deletions and replacements of bytes, and exchanges of neighbours, that make one word the other. No byte
// is changed twice (optimal string alignment). Takes time in proportion to the product of both lengths.
size_t EditDistance(std::string_view a, std::string_view b);

// A known name is a plausible guess for an unknown one of this size if it is at most this far away.
constexpr size_t FarthestGuess(size_t name_bytes) {
  constexpr size_t kShortName = 7;  // one slip
  return name_bytes <= kShortName ? 1 : 2;
}

}  // namespace bitsieve::core
