// positions.h: where the types that spread an item over the whole array look: k positions of a hash. Persisted by what
// they place: never changed. Thread-compatible.
#pragma once

#include <array>
#include <cstdint>

#include "core/hash/key_hash.h"

namespace bitsieve::core {

inline constexpr uint32_t kMaxPositions = 64;  // of one item

// Up to kMaxPositions positions in [0, m), one after the other, by enhanced double hashing;
// core/families/bloom/classic_bloom.h explains why.
class Positions {
 public:
  Positions(const KeyHash& hash, uint64_t m) : at_(hash.low), step_(hash.high | 1), m_(m) {}
  uint64_t Next() {
    const uint64_t position = MultiplyHigh(at_, m_);
    at_ += step_;
    step_ += *growth_++;
    return position;
  }

 private:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15ULL;
  // By how much the step grows each time: a table, since its pointer takes fewer instructions than two sums.
  static constexpr auto kGrowth = [] {
    std::array<uint64_t, kMaxPositions> growth{};
    for (uint64_t i = 0; i < kMaxPositions; ++i) growth[i] = kStep * (i + 1);
    return growth;
  }();
  uint64_t at_;
  uint64_t step_;
  const uint64_t* growth_ = kGrowth.data();
  const uint64_t m_;
};

// Positions in [0, m) by plain double hashing, as RedisBloom has them: (at + i * step) mod 2^64 mod m. Only the first
// two positions take divisions: from one to the next the rest grows by that of the step, less that of 2^64 where the
// sum wraps around.
class SteppedPositions {
 public:
  SteppedPositions(const KeyHash& hash, uint64_t m) : at_(hash.low), step_(hash.high), m_(m) {}
  uint64_t Next() {
    if (step_in_m_ >= kUnknown) {  // once or twice
      if (step_in_m_ == kUnbegun) {
        step_in_m_ = kUnknown;
        return place_ = at_ % m_;
      }
      step_in_m_ = step_ % m_;
      wrapped_in_m_ = (0 - m_) % m_;
    }
    const bool wraps = __builtin_add_overflow(at_, step_, &at_);
    const uint64_t less = wraps ? wrapped_in_m_ : 0;
    place_ += step_in_m_;
    place_ -= place_ >= m_ ? m_ : 0;
    place_ += place_ < less ? m_ : 0;
    return place_ -= less;
  }

 private:
  // More than any rest.
  static constexpr uint64_t kUnbegun = UINT64_MAX;
  static constexpr uint64_t kUnknown = kUnbegun - 1;

  uint64_t at_;
  const uint64_t step_;
  const uint64_t m_;  // at most 2^63
  uint64_t place_ = 0;
  uint64_t step_in_m_ = kUnbegun;
  uint64_t wrapped_in_m_ = 0;
};

}  // namespace bitsieve::core
