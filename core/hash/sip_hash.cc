#include "core/hash/sip_hash.h"

#include <bit>
#include <cstring>

#include "core/base/always_inline.h"
#include "core/base/bytes.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {

namespace {

constexpr int kWordRounds = 2;
constexpr int kFinalRounds = 4;

class SipState {
 public:
  explicit SipState(const SipKey& key)
      : v0_(key.first ^ 0x736f6d6570736575),
        v1_(key.second ^ 0x646f72616e646f6d ^ 0xee),  // 0xee and 0xdd: of the double width
        v2_(key.first ^ 0x6c7967656e657261),
        v3_(key.second ^ 0x7465646279746573) {}

  BITSIEVE_ALWAYS_INLINE void Absorb(uint64_t word) {
    v3_ ^= word;
    Rounds(kWordRounds);
    v0_ ^= word;
  }
  KeyHash Finish() {
    v2_ ^= 0xee;
    Rounds(kFinalRounds);
    const uint64_t low = v0_ ^ v1_ ^ v2_ ^ v3_;
    v1_ ^= 0xdd;
    Rounds(kFinalRounds);
    return {low, v0_ ^ v1_ ^ v2_ ^ v3_};
  }

 private:
  BITSIEVE_ALWAYS_INLINE void Rounds(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      v0_ += v1_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v0_ = std::rotl(v0_, 32);
      v2_ += v3_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ += v3_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ += v1_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace

KeyHash SipHash(std::string_view bytes, const SipKey& key) {
  SipState state(key);
  ByteReader in(bytes);
  while (in.remaining() >= sizeof(uint64_t)) state.Absorb(in.Get<uint64_t>());
  uint64_t last = 0;  // the last bytes, fewer than a word, and the length modulo 256 above them
  if (const std::string_view rest = in.GetBytes(in.remaining()); !rest.empty()) {
    std::memcpy(&last, rest.data(), rest.size());
  }
  state.Absorb(last | static_cast<uint64_t>(bytes.size()) << 56);
  return state.Finish();
}

SipKey SipKeyOfSeed(uint64_t seed) { return {seed, Mix64(seed)}; }

}  // namespace bitsieve::core
