// quote.h: bytes from outside, fit for messages and logs. Thread-safe: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace bitsieve::core {

// "\x0a".
std::string HexEscaped(char c);
// Printable ASCII.
inline bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

// Text in double quotes: control bytes escaped, quotes and backslashes too, all other bytes as they are; cut when long.
std::string Quoted(std::string_view text);
// A filter's name, which is any bytes, in single quotes: whatever is not printable ASCII escaped; cut when long.
std::string PrintableName(std::string_view name);

}  // namespace bitsieve::core
