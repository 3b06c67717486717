// plain_line.h: one line as a person types it, to arguments, by the rules of Redis' inline commands:
//   blanks separate; "..." knows \n \r \t \b \a \xHH, and a backslash before any other byte stands for that byte;
//   '...' knows only \'; a quote may open inside of a word (ab"c d"), but where it closes, the argument ends.
// Unlike there, a zero byte is a byte like any other. Thread-safe: no state.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace bitsieve::protocol {

// Appends the arguments of `line` (without its line end) as views into it; it is unescaped in place. False if a quote
// is left open or followed by something else than a blank: then some arguments may have been appended.
bool SplitPlainLine(std::span<char> line, std::vector<std::string_view>& arguments);

}  // namespace bitsieve::protocol
