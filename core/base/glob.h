// glob.h: Redis' glob patterns, for names that need not be text. Thread-safe: a pure function.
//   *       any bytes, none included          ?      one byte
//   [abc]   one of these bytes                [a-z]  one of a range, whichever end comes first
//   [^abc]  one byte that is none of these    \x     the byte x itself, also within brackets
// As in Redis, a class that is never closed ends with the pattern, and a backslash at the end stands for itself.
//
// Never recursive: a star is retried from the last place only, so that a hostile pattern costs at most
// pattern.size() * text.size() steps, not an exponential number.
#pragma once

#include <string_view>

namespace bitsieve::core {

// Whether `pattern` describes all of `text`. Bytes are compared as they are, upper and lower case apart.
bool GlobMatch(std::string_view pattern, std::string_view text);

}  // namespace bitsieve::core
