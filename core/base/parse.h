// parse.h: text to numbers, as strict as Redis is, and doubles to text. (Those of replies: ReplyWriter.) Thread-safe:
// pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bitsieve::core {

// Decimal, no blanks, no plus sign, no leading zeros.
std::optional<int64_t> ParseInteger(std::string_view text);
std::optional<uint64_t> ParseUnsigned(std::string_view text);
// Hexadecimal digits in any case, without a prefix.
std::optional<uint64_t> ParseHex(std::string_view digits);
// A finite or infinite number in decimal or scientific notation; never NaN, never a number that only rounds to zero.
std::optional<double> ParseDouble(std::string_view text);

// The fewest characters that read back as the same number: "0.01", "1e-04".
std::string ShortestText(double number);
// To so many significant digits, as printf's %g: "0.01", "0.0001", "1e-05".
std::string RoundedText(double number, int digits);

// Returns the bytes of a part of a URL, in which %41 is an A. Nothing if a % is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecoded(std::string_view text);

bool EqualsIgnoringCase(std::string_view a, std::string_view b);
std::string LowerCase(std::string_view text);

}  // namespace bitsieve::core
