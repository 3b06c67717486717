// edit_distance.h: how far one word is from another, to guess what was meant by a name that is unknown.
// Thread-safe: a pure function.
#pragma once

#include <cstddef>
#include <string_view>

namespace bitsieve::core {

// Insertions, deletions and replacements of bytes that make one word the other (Levenshtein). Takes time in proportion
// to the product of both lengths.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace bitsieve::core
