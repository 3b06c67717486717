// window_text.h: the text of a window, as in WINDOW 1000000 or WINDOW 24h: read from commands, told by BF.INFO.
// Thread-safe: free functions on plain values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/filters/filter_params.h"

namespace bitsieve::server {

// A number of items, or a number and one of the units ms, s, m, h, d. Nothing for another text, for zero, and for what
// is beyond any window.
std::optional<core::WindowSpan> ParseWindow(std::string_view text);
// The same in its shortest form: a duration in the largest unit that it is a whole number of.
std::string WindowText(const core::WindowSpan& window);

}  // namespace bitsieve::server
