// quote.h: text from outside, fit for a message: in quotes, control bytes escaped, cut when long. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace bitsieve::config {

std::string Quoted(std::string_view text);

}  // namespace bitsieve::config
