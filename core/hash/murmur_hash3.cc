#include "core/hash/murmur_hash3.h"

#include <bit>
#include <cstring>

#include "core/base/bytes.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kFirst = 0x87c37b91114253d5;
constexpr uint64_t kSecond = 0x4cf5ad432745937f;

uint64_t ScrambleLow(uint64_t word) { return std::rotl(word * kFirst, 31) * kSecond; }
uint64_t ScrambleHigh(uint64_t word) { return std::rotl(word * kSecond, 33) * kFirst; }

}  // namespace

KeyHash MurmurHash3(std::string_view bytes, uint64_t seed) {
  uint64_t low = seed;
  uint64_t high = seed;
  ByteReader in(bytes);
  while (in.remaining() >= 2 * sizeof(uint64_t)) {
    low ^= ScrambleLow(in.Get<uint64_t>());
    low = (std::rotl(low, 27) + high) * 5 + 0x52dce729;
    high ^= ScrambleHigh(in.Get<uint64_t>());
    high = (std::rotl(high, 31) + low) * 5 + 0x38495ab5;
  }
  uint64_t tail[2] = {0, 0};  // the last bytes, fewer than two words; zeros change nothing
  if (const std::string_view rest = in.GetBytes(in.remaining()); !rest.empty()) {
    std::memcpy(tail, rest.data(), rest.size());
  }
  low ^= ScrambleLow(tail[0]);
  high ^= ScrambleHigh(tail[1]);

  low ^= bytes.size();
  high ^= bytes.size();
  return Mix128({low, high});
}

}  // namespace bitsieve::core
