// modulus.h: remainders of many numbers by the same divisor, in two multiplications each in place of a division
// (Barrett, "Implementing the Rivest Shamir and Adleman Public Key Encryption Algorithm on a Standard Digital Signal
// Processor", 1986). Making one takes a division. Thread-safe: a plain value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/hash/key_hash.h"

namespace bitsieve::core {

class Modulus {
 public:
  // The divisor is not 0.
  explicit Modulus(uint64_t divisor) : divisor_(divisor), inverse_(UINT64_MAX / divisor) {}

  uint64_t divisor() const { return divisor_; }
  // Returns value % divisor(). The estimated quotient is the right one or one less: the inverse times the divisor lacks
  // at most the divisor to 2^64, so that value * inverse / 2^64 is more than value / divisor - 1.
  uint64_t Of(uint64_t value) const {
    const uint64_t rest = value - MultiplyHigh(value, inverse_) * divisor_;
    return std::min(rest, rest - divisor_);
  }

 private:
  uint64_t divisor_;
  uint64_t inverse_;
};

}  // namespace bitsieve::core
