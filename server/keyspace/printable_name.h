// printable_name.h: a filter's name, which is any bytes, for logs and error texts. Thread-safe: a pure function.
#pragma once

#include <string>
#include <string_view>

namespace bitsieve::server {

// In quotes: unprintable bytes as \xHH, cut when long.
inline std::string PrintableName(std::string_view name) {
  constexpr size_t kShown = 64;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const char c : name.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\' && c != '\'') {
      text += c;
    } else {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return "'" + text + (name.size() > kShown ? "'..." : "'");
}

}  // namespace bitsieve::server
