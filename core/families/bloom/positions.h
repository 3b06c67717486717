// positions.h: where the types that spread an item over the whole array look: k positions of a hash. Persisted by what
// they place: never changed. Thread-compatible.
#pragma once

#include <cstdint>

#include "core/hash/key_hash.h"

namespace bitsieve::core {

inline constexpr uint32_t kMaxPositions = 64;  // of one item

// Positions in [0, m), one after the other, by enhanced double hashing; core/families/bloom/classic_bloom.h explains
// why.
class Positions {
 public:
  Positions(const KeyHash& hash, uint64_t m) : at_(hash.low), step_(hash.high | 1), m_(m) {}
  uint64_t Next() {
    const uint64_t position = MultiplyHigh(at_, m_);
    at_ += step_;
    step_ += growth_;
    growth_ += kStep;
    return position;
  }

 private:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15ULL;
  uint64_t at_;
  uint64_t step_;
  uint64_t growth_ = kStep;
  const uint64_t m_;
};

// Positions in [0, m) by plain double hashing, as RedisBloom has them.
class SteppedPositions {
 public:
  SteppedPositions(const KeyHash& hash, uint64_t m) : at_(hash.low), step_(hash.high), m_(m) {}
  uint64_t Next() {
    const uint64_t position = at_ % m_;
    at_ += step_;
    return position;
  }

 private:
  uint64_t at_;
  const uint64_t step_;
  const uint64_t m_;
};

}  // namespace bitsieve::core
