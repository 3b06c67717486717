// valkey_bloom.h: the Bloom filter that valkey-bloom has, bit for bit. Answers "definitely not" or "probably yes";
// wrong with the second at about the requested rate, never with the first.
//
// Idea        a filter that came from valkey-bloom, or is to go there, must place its bits where valkey-bloom looks for
//             them. So hashing, sizing and layout are valkey-bloom's, and with them what they cost.
// Layout      one array of whole bytes, bit x in byte x / 8 under the mask 1 << (x % 8), rounded up to whole 64-byte
//             lines; the spare bits of the last line stay clear. All of it persists.
// Hashing     two SipHash-1-3 values h0 and h1 (sip_hash.h), under the two halves of a seed of 32 bytes. Position 0 is
//             h0 mod bits, position 1 is h1 mod bits, and position i from 2 on is (h0 + i * h1 mod 2^64) mod
//             (2^64 - 59) mod bits.
// Sizing      bytes = ceil(n ln(p) / (-8 (ln 2)^2)), bits = 8 bytes, k = max(1, round(bits / n ln 2)): in doubles, and
//             in this order of operations, since another one may differ by a byte.
// Operations  as ClassicBloom.
// Cost        as ClassicBloom, and two multiplications more for each position.
// Limits      plain double hashing does not keep low rates on small filters (classic_bloom.h).
// Threads     as SubFilter.
// Persisted   type 11; docs/filters/valkeybloom.md.
#pragma once

#include "core/families/bloom/modulus.h"
#include "core/families/bloom/spread_bloom.h"

namespace bitsieve::core {

extern const SubFilterLayout kValkeyBloomLayout;

// The positions of an item, one after the other. Thread-compatible.
class ValkeyPositions {
 public:
  using Range = Modulus;

  ValkeyPositions(const KeyHash& hash, const Modulus& m) : at_(hash.low), step_(hash.high), m_(m) {}
  uint64_t Next() {
    if (index_ == 0) {
      index_ = 1;
      return m_.Of(at_);
    }
    at_ += step_;
    if (index_ == 1) {
      index_ = 2;
      return m_.Of(step_);
    }
    return m_.Of(at_ < kPrime ? at_ : at_ - kPrime);
  }

 private:
  static constexpr uint64_t kPrime = 0xFFFFFFFFFFFFFFC5;  // 2^64 - 59

  uint64_t at_;
  const uint64_t step_;
  const Modulus m_;
  uint32_t index_ = 0;
};

class ValkeyBloom final : public SpreadBloom<ValkeyPositions> {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 50;  // of a sub-filter
  static constexpr uint64_t kMaxCapacity = uint64_t{1} << 50;
  static constexpr uint32_t kMaxHashFunctions = 2048;  // the smallest rate that a double can hold needs about 1030

  ValkeyBloom(const SubFilterShape& shape, BitMemory memory) : SpreadBloom(shape, std::move(memory), shape.bits) {}

  // Returns a shape that is not valid for a capacity so large that no memory holds it.
  static SubFilterShape ShapeFor(uint64_t capacity, double error_rate);
  static bool IsValidShape(const SubFilterShape& shape);

  std::optional<double> EstimatedRate() const override;
};

}  // namespace bitsieve::core
