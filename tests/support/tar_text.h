// tar_text.h: tar archives as text, of members that no tool would write. Thread-safe: pure functions.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace bitsieve::test {

inline constexpr size_t kTarBlockBytes = 512;

// A member with its header; `type` as in the format: '0' a file, '1' and '2' links, '5' a directory.
inline std::string TarMember(std::string_view name, std::string_view bytes, char type = '0',
                             std::string_view link = {}) {
  std::string header(kTarBlockBytes, '\0');
  const auto put = [&header](size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  char size[13];
  std::snprintf(size, sizeof size, "%011zo", bytes.size());
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, size);
  put(136, "00000000000");
  put(148, "        ");
  header[156] = type;
  put(157, link.substr(0, 100));
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char checksum[8];
  std::snprintf(checksum, sizeof checksum, "%06o", sum);
  put(148, std::string_view(checksum, 7));
  std::string member = header + std::string(bytes);
  member.resize((member.size() + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes);
  return member;
}

inline std::string TarEnd() { return std::string(2 * kTarBlockBytes, '\0'); }

}  // namespace bitsieve::test
