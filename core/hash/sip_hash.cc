#include "core/hash/sip_hash.h"

#include <bit>
#include <cstring>

#include "core/base/always_inline.h"
#include "core/base/bytes.h"
#include "core/hash/mix64.h"

namespace bitsieve::core {

namespace {

enum class Width { kSingle, kDouble };

template <int kWordRounds, int kFinalRounds, Width width>
class SipState {
 public:
  explicit SipState(const SipKey& key)
      : v0_(key.first ^ 0x736f6d6570736575),
        v1_(key.second ^ 0x646f72616e646f6d ^ (width == Width::kDouble ? 0xee : 0)),
        v2_(key.first ^ 0x6c7967656e657261),
        v3_(key.second ^ 0x7465646279746573) {}

  BITSIEVE_ALWAYS_INLINE void Absorb(uint64_t word) {
    v3_ ^= word;
    Rounds(kWordRounds);
    v0_ ^= word;
  }
  // Absorbs the bytes and the length modulo 256 of all that was absorbed. `before` bytes were absorbed already, in
  // whole words.
  BITSIEVE_ALWAYS_INLINE void AbsorbLast(std::string_view bytes, uint64_t before = 0) {
    ByteReader in(bytes);
    while (in.remaining() >= sizeof(uint64_t)) Absorb(in.Get<uint64_t>());
    uint64_t last = 0;  // the last bytes, fewer than a word, and the length above them
    if (const std::string_view rest = in.GetBytes(in.remaining()); !rest.empty()) {
      std::memcpy(&last, rest.data(), rest.size());
    }
    Absorb(last | (before + bytes.size()) << 56);
  }
  uint64_t Finish() {
    v2_ ^= width == Width::kDouble ? 0xee : 0xff;
    Rounds(kFinalRounds);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }
  uint64_t FinishSecond() {
    v1_ ^= 0xdd;
    Rounds(kFinalRounds);
    return v0_ ^ v1_ ^ v2_ ^ v3_;
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
  SipState<2, 4, Width::kDouble> state(key);
  state.AbsorbLast(bytes);
  const uint64_t low = state.Finish();
  return {low, state.FinishSecond()};
}

uint64_t SipHash13OfSlice(std::string_view bytes, const SipKey& key) {
  SipState<1, 3, Width::kSingle> state(key);
  state.Absorb(bytes.size());
  state.AbsorbLast(bytes, sizeof(uint64_t));
  return state.Finish();
}

SipKey SipKeyOfSeed(uint64_t seed) { return {seed, Mix64(seed)}; }

}  // namespace bitsieve::core
