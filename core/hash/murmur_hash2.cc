#include "core/hash/murmur_hash2.h"

#include <cstring>

#include "core/base/bytes.h"

namespace bitsieve::core {

namespace {

uint64_t LittleEndian64(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// The last bytes, fewer than a word, as the low ones of a word. Without a call of memcpy, which costs more than they
// are.
template <class Word>
Word TailWord(std::string_view tail) {
  Word word = 0;
  for (size_t i = tail.size(); i-- > 0;) word = word << 8 | static_cast<uint8_t>(tail[i]);
  return word;
}

}  // namespace

uint64_t MurmurHash64A(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995;
  constexpr int kShift = 47;
  uint64_t hash = seed ^ (bytes.size() * kMultiplier);
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= sizeof(uint64_t); at += sizeof(uint64_t), left -= sizeof(uint64_t)) {
    uint64_t word = LittleEndian64(at) * kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash = (hash ^ word) * kMultiplier;
  }
  if (left != 0) hash = (hash ^ TailWord<uint64_t>({at, left})) * kMultiplier;
  hash ^= hash >> kShift;
  hash *= kMultiplier;
  return hash ^ hash >> kShift;
}

uint32_t MurmurHash2(std::string_view bytes, uint32_t seed) {
  constexpr uint32_t kMultiplier = 0x5bd1e995;
  constexpr int kShift = 24;
  uint32_t hash = seed ^ static_cast<uint32_t>(bytes.size());
  ByteReader in(bytes);
  while (in.remaining() >= sizeof(uint32_t)) {
    auto word = in.Get<uint32_t>();
    word *= kMultiplier;
    word ^= word >> kShift;
    word *= kMultiplier;
    hash = hash * kMultiplier ^ word;
  }
  if (!in.AtEnd()) hash = (hash ^ TailWord<uint32_t>(in.GetBytes(in.remaining()))) * kMultiplier;
  hash ^= hash >> 13;
  hash *= kMultiplier;
  return hash ^ hash >> 15;
}

}  // namespace bitsieve::core
