#include "config/quote.h"

namespace bitsieve::config {
namespace {

constexpr size_t kMaxShownBytes = 100;

void AppendEscaped(unsigned char byte, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (byte == '"' || byte == '\\') {
    out += '\\';
    out += static_cast<char>(byte);
  } else if (byte < 0x20 || byte == 0x7f) {
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  } else {
    out += static_cast<char>(byte);
  }
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxShownBytes)) AppendEscaped(static_cast<unsigned char>(c), out);
  out += text.size() > kMaxShownBytes ? "\"..." : "\"";
  return out;
}

}  // namespace bitsieve::config
