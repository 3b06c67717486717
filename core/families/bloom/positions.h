// positions.h: where the types that spread an item over the whole array look: k positions of a hash. Persisted by what
// they place: never changed. Thread-compatible.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/families/bloom/modulus.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

inline constexpr uint32_t kMaxPositions = 64;  // of one item

// Up to kMaxPositions positions in [0, m), one after the other, by enhanced double hashing;
// core/families/bloom/classic_bloom.h explains why.
class Positions {
 public:
  using Range = uint64_t;  // m

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

// Positions in [0, m) by plain double hashing, as RedisBloom has them: (at + i * step) mod 2^64 mod m. From one to the
// next the rest grows by that of the step, less that of 2^64 where the sum wraps around. Every second sum does, and a
// processor cannot predict which: so there are no branches.
class SteppedPositions {
 public:
  using Range = Modulus;

  SteppedPositions(const KeyHash& hash, const Modulus& m)
      : at_(hash.low), step_(hash.high), m_(m.divisor()), place_(m.Of(at_)), growth_(m.Of(step_)) {
    const uint64_t wrapped = growth_ + m_ - m.Of(0 - m_);
    choice_ = growth_ ^ std::min(wrapped, wrapped - m_);
  }
  uint64_t Next() {
    const uint64_t place = place_;
    uint64_t wraps = 0 - uint64_t{__builtin_add_overflow(at_, step_, &at_)};
    asm("" : "+r"(wraps));  // GCC 12 makes a branch of it where it knows that there are two values
    place_ += growth_ ^ (choice_ & wraps);
    place_ = std::min(place_, place_ - m_);
    return place;
  }

 private:
  uint64_t at_;
  const uint64_t step_;
  const uint64_t m_;  // at most 2^63
  uint64_t place_;
  const uint64_t growth_;  // of the rest, unless the sum wraps around
  uint64_t choice_;        // what turns growth_ into that of a sum that does
};

}  // namespace bitsieve::core
