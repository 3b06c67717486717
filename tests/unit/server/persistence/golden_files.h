// golden_files.h: the kept bytes of released formats, and the pages that show them. See the head of golden_test.cc.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace bitsieve::server {

inline constexpr char kBroken[] =
    "THE FORMAT ON DISK CHANGED: data of released servers would not be read, or theirs not ours. See the head of "
    "golden_test.cc before doing anything about it.";

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << "cannot read " << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// By version and path below the data directory: "v2/MANIFEST".
std::string GoldenPath(const std::string& name);

inline void ExpectGolden(const std::string& written, const std::string& name) {
  const std::string path = GoldenPath(name);
  if (std::getenv("BITSIEVE_WRITE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << written;
  EXPECT_TRUE(written == ReadText(path)) << path << ": " << kBroken;
}

// "0010  62 6c ...  |bl...|"
inline std::string HexDump(const std::string& bytes) {
  std::ostringstream out;
  for (size_t line = 0; line < bytes.size(); line += 16) {
    char text[32];
    std::snprintf(text, sizeof text, "%04zx ", line);
    out << text;
    std::string printable;
    for (size_t i = line; i < line + 16; ++i) {
      const auto byte = i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
      std::snprintf(text, sizeof text, i < bytes.size() ? " %02x" : "   ", byte);
      out << text << (i % 8 == 7 && i % 16 != 15 ? " " : "");
      if (i < bytes.size()) printable += byte >= 0x20 && byte < 0x7f ? static_cast<char>(byte) : '.';
    }
    out << "  |" << printable << "|\n";
  }
  return out.str();
}

// `page`: of docs/formats.
inline void ExpectDocumented(const std::string& name, const std::string& page) {
  const std::string document = ReadText(GoldenPath("../../../../../docs/formats/" + page));
  const std::string dump = HexDump(ReadText(GoldenPath(name)));
  EXPECT_NE(document.find(dump), std::string::npos) << page << " should show " << name << " as\n" << dump;
}

}  // namespace bitsieve::server
