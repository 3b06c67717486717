// key_source.h: the types of items that users have, made up deterministically: item i of a source is always the same,
// and items of different numbers differ.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace bitsieve::test {

inline uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

enum class KeySource { kStrings, kSequentialIntegers, kUuids, kRandomBytes };

inline const char* KeySourceName(KeySource source) {
  constexpr const char* kNames[] = {"strings", "sequential_integers", "uuids", "random_bytes"};
  return kNames[static_cast<int>(source)];
}

inline std::string Key(KeySource source, uint64_t i) {
  switch (source) {
    case KeySource::kStrings:
      return "https://example.org/shop/item?id=" + std::to_string(i);
    case KeySource::kSequentialIntegers:
      return {reinterpret_cast<const char*>(&i), sizeof i};  // as a program would store them: mostly zero bytes
    case KeySource::kUuids: {
      char text[37];
      const uint64_t a = Mix(i + 1), b = Mix(a ^ i);
      std::snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%012llx", static_cast<unsigned>(a >> 32),
                    static_cast<unsigned>(a >> 16 & 0xFFFF), static_cast<unsigned>(a & 0xFFF),
                    static_cast<unsigned>(0x8000 | (b >> 48 & 0x3FFF)),
                    static_cast<unsigned long long>(b & 0xFFFFFFFFFFFFULL));
      return text;
    }
    case KeySource::kRandomBytes: {
      const uint64_t words[2] = {Mix(i + 77), Mix(Mix(i) + 5)};
      return {reinterpret_cast<const char*>(words), sizeof words};
    }
  }
  return {};
}

}  // namespace bitsieve::test
