// duration.h: durations as text: a whole number and one of the units ms, s, m, h and d. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bitsieve::core {

// Returns the milliseconds of a text such as "24h"; nothing for other texts, and for more than `max_ms`. Units are
// case-insensitive.
std::optional<uint64_t> ParseDuration(std::string_view text, uint64_t max_ms);
// Returns the text, in the largest unit of which `ms`, at least 1, is a whole number.
std::string DurationText(uint64_t ms);

}  // namespace bitsieve::core
