#include "server/http/shown_name.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "core/base/quote.h"
#include "core/hash/key_hash.h"

namespace bitsieve::server {
namespace {

constexpr size_t kMaxShownBytes = 160;

struct Form {
  uint8_t lead_mask, lead;
  size_t bytes;
  uint32_t least;  // a smaller character has a shorter form
};
constexpr std::array<Form, 3> kForms = {{{0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}}};

// Direction and joining marks would make other text look like what it is not, as control characters do.
bool IsInvisible(uint32_t character) {
  return character < 0xA0 || character == 0xAD || (character >= 0x200B && character <= 0x200F) ||
         (character >= 0x2028 && character <= 0x202E) || (character >= 0x2060 && character <= 0x206F) ||
         character == 0xFEFF;
}

// Bytes of the visible character, beyond ASCII, that the text begins with; 0 if there is none.
size_t CharacterBytes(std::string_view text) {
  for (const Form& form : kForms) {
    const auto lead = static_cast<uint8_t>(text[0]);
    if ((lead & form.lead_mask) != form.lead) continue;
    if (text.size() < form.bytes) return 0;
    uint32_t character = lead & ~form.lead_mask & 0xFF;
    for (size_t i = 1; i < form.bytes; ++i) {
      const auto next = static_cast<uint8_t>(text[i]);
      if ((next & 0xC0) != 0x80) return 0;
      character = character << 6 | (next & 0x3F);
    }
    const bool is_surrogate = character >= 0xD800 && character <= 0xDFFF;
    if (character < form.least || character > 0x10FFFF || is_surrogate || IsInvisible(character)) return 0;
    return form.bytes;
  }
  return 0;
}

}  // namespace

std::string ShownName(std::string_view name) {
  std::string shown;
  for (size_t at = 0; at < name.size();) {
    if (shown.size() >= kMaxShownBytes) {
      constexpr uint64_t kSeed = 0;
      char rest[24];
      std::snprintf(rest, sizeof rest, "…%016llx", static_cast<unsigned long long>(core::HashItem(name, kSeed).high));
      return shown + rest;
    }
    const bool is_plain = core::IsPrintable(name[at]) && name[at] != '\\';
    const size_t bytes = is_plain ? 1 : CharacterBytes(name.substr(at));
    if (bytes == 0) {
      shown += core::HexEscaped(name[at++]);
      continue;
    }
    shown += name.substr(at, bytes);
    at += bytes;
  }
  return shown;
}

std::string UrlEncoded(std::string_view name) {
  std::string encoded;
  for (const char c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '_' || c == '.' || c == '~';
    if (is_plain) {
      encoded += c;
      continue;
    }
    char escape[4];
    std::snprintf(escape, sizeof escape, "%%%02X", static_cast<unsigned char>(c));
    encoded += escape;
  }
  return encoded;
}

}  // namespace bitsieve::server
