#include "core/base/quote.h"

namespace bitsieve::core {

namespace {

constexpr size_t kMaxTextBytes = 100;
constexpr size_t kMaxNameBytes = 64;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string HexEscaped(char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxTextBytes)) {
    if (c == '"' || c == '\\') out += '\\';
    out += IsControl(c) ? HexEscaped(c) : std::string(1, c);
  }
  out += text.size() > kMaxTextBytes ? "\"..." : "\"";
  return out;
}

std::string PrintableName(std::string_view name) {
  std::string out = "'";
  for (const char c : name.substr(0, kMaxNameBytes)) {
    out += IsPrintable(c) && c != '\\' && c != '\'' ? std::string(1, c) : HexEscaped(c);
  }
  out += name.size() > kMaxNameBytes ? "'..." : "'";
  return out;
}

}  // namespace bitsieve::core
