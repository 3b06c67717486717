// glob.h: Redis' glob patterns, for names that need not be text. Thread-safe: pure functions, without allocation.
//   *       any bytes, none included          ?      one byte
//   [abc]   one of these bytes                [a-z]  one of a range, whichever end comes first
//   [^abc]  one byte that is none of these    \x     the byte x itself, also within brackets
// As in Redis, a class that is never closed ends with the pattern, and a backslash at the end stands for itself.
//
// Cost: stars cut a pattern into segments. The first and the last one are compared in one place each. Each one between
// them is searched for once, from the end of the one before it, so that the text is passed over once, whatever the
// pattern is. A segment of literal bytes is found by memmem. Another one is found by a bit for each of its steps, 64 in
// a word (Baeza-Yates and Gonnet 1992), so that a byte of the text takes one operation for each 64 steps. All in all
// O(pattern + text * ceil(longest segment / 64)): GlobCost() is the bound that callers may rely on. It is linear in the
// text, though not in both: where clients choose pattern and text, both have limits. A pattern of more than
// kMaxSearchedPattern bytes, which no client can send, costs the product of both lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bitsieve::core {

// Whether `pattern` describes all of `text`. Bytes are compared as they are, upper and lower case apart.
bool GlobMatch(std::string_view pattern, std::string_view text) noexcept;

// The literal bytes that every text begins with which fits the pattern.
std::string_view GlobPrefix(std::string_view pattern) noexcept;

inline constexpr size_t kMaxSearchedPattern = 65536;

// About what a match takes at most, in nanoseconds, for patterns of up to kMaxSearchedPattern bytes.
constexpr uint64_t GlobCost(size_t pattern_bytes, size_t text_bytes) noexcept {
  const uint64_t product = uint64_t{pattern_bytes} * text_bytes;
  return (product < 1024 ? product : 1024) + pattern_bytes + (1 + pattern_bytes / 64) * uint64_t{text_bytes};
}

}  // namespace bitsieve::core
