// join.h: texts put together with a separator. Thread-safe: a pure function.
#pragma once

#include <string>
#include <string_view>

namespace bitsieve::core {

// Joins those of the texts that are not empty.
template <class Texts>
std::string Join(const Texts& texts, std::string_view separator) {
  std::string joined;
  for (const std::string_view text : texts) {
    if (text.empty()) continue;
    if (!joined.empty()) joined += separator;
    joined += text;
  }
  return joined;
}

}  // namespace bitsieve::core
