#include "core/filters/classic_bloom.h"

#include <cmath>

#include "core/filters/sizing.h"

namespace bitsieve::core {

LinkShape ClassicBloom::ShapeFor(uint64_t capacity, double error_rate) {
  const uint64_t bits = ClassicBits(capacity, error_rate);
  const uint32_t hashes = std::min(ClassicOptimalHashes(bits, capacity), kMaxHashFunctions);
  return {FilterKind::kClassic, capacity, error_rate, bits, hashes, 0};
}

bool ClassicBloom::IsValidShape(const LinkShape& shape) {
  return shape.lines_per_item == 0 && shape.hash_functions >= 1 && shape.hash_functions <= kMaxHashFunctions &&
         shape.bits >= 1 && shape.bits <= UINT64_MAX / 2;
}

double ClassicBloom::EstimatedRate() const {
  return std::pow(FillRatio(set_bits(), shape().bits), shape().hash_functions);
}

}  // namespace bitsieve::core
