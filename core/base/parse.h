// parse.h: text to numbers, as strict as Redis is. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bitsieve::core {

// Decimal, no blanks, no plus sign, no leading zeros.
std::optional<int64_t> ParseInteger(std::string_view text);
std::optional<uint64_t> ParseUnsigned(std::string_view text);
// A finite or infinite number in decimal or scientific notation; never NaN, never a number that only rounds to zero.
std::optional<double> ParseDouble(std::string_view text);
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

}  // namespace bitsieve::core
