#include "core/base/json_writer.h"

#include <array>
#include <cstdint>

namespace bitsieve::core {
namespace {

struct Form {
  uint8_t lead_mask, lead;
  size_t bytes;
  uint32_t least;  // a smaller character has a shorter form
};
constexpr std::array<Form, 4> kForms = {
    {{0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}}};

constexpr bool IsCharacter(uint32_t code) { return code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF); }

size_t BytesOf(std::string_view text, const Form& form) {
  if (text.size() < form.bytes) return 0;
  uint32_t code = static_cast<uint8_t>(text[0]) & ~form.lead_mask & 0xFF;
  for (size_t i = 1; i < form.bytes; ++i) {
    const auto next = static_cast<uint8_t>(text[i]);
    if ((next & 0xC0) != 0x80) return 0;
    code = code << 6 | (next & 0x3F);
  }
  return code >= form.least && IsCharacter(code) ? form.bytes : 0;
}

}  // namespace

size_t Utf8CharacterBytes(std::string_view text) {
  for (const Form& form : kForms) {
    if ((static_cast<uint8_t>(text[0]) & form.lead_mask) == form.lead) return BytesOf(text, form);
  }
  return 0;
}

std::string_view json::Escape(char c, char (&room)[6]) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt", kHex = "0123456789abcdef";
  const auto byte = static_cast<uint8_t>(c);
  room[0] = '\\';
  if (const size_t at = kNamed.find(c); at != std::string_view::npos) {
    room[1] = kLetters[at];
    return {room, 2};
  }
  if (byte >= 0x20) return {};
  room[1] = 'u';
  room[2] = room[3] = '0';
  room[4] = kHex[byte >> 4];
  room[5] = kHex[byte & 15];
  return {room, 6};
}

}  // namespace bitsieve::core
