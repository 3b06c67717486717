#include "core/families/cuckoo/cuckoo_geometry.h"

#include <cassert>

namespace bitsieve::core {

CuckooGeometry::CuckooGeometry(const CuckooShape& shape, const CuckooGeometry* older)
    : shape_(shape),
      older_(older),
      multiple_(older == nullptr ? shape.buckets : shape.buckets / older->shape_.buckets),
      first_bits_(older == nullptr ? shape.fingerprint_bits : older->first_bits_) {
  assert(older == nullptr || shape.buckets % older->shape_.buckets == 0);
  assert(older == nullptr || shape.fingerprint_bits >= older->shape_.fingerprint_bits);
}

// Computes the partner as Refine does, but from the last digit to the first.
uint64_t CuckooGeometry::PartnerOf(uint64_t bucket, uint64_t fingerprint) const {
  const uint64_t first = std::max<uint64_t>(1, fingerprint >> (shape_.fingerprint_bits - first_bits_));
  uint64_t sum = MultiplyHigh(SumOf(first), shape_.buckets);
  uint64_t partner = 0;
  uint64_t scale = 1;
  const CuckooGeometry* table = this;
  for (; table->older_ != nullptr; table = table->older_) {
    const uint64_t m = table->multiple_;
    partner += scale * Subtract(sum % m, bucket % m, m);
    scale *= m;
    sum /= m;
    bucket /= m;
  }
  return partner + scale * Subtract(sum, bucket, table->multiple_);
}

}  // namespace bitsieve::core
