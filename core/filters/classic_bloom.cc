#include "core/filters/classic_bloom.h"

#include <bit>
#include <cmath>

#include "core/bits/stripe_locks.h"
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

void ClassicBloom::Prefetch(const KeyHash& hash) const {
  // An absent item is mostly found out by its first bits: more lines than these would be loaded for nothing.
  constexpr uint32_t kPrefetched = 3;
  Positions positions(hash, shape().bits);
  for (uint32_t i = 0; i < std::min(kPrefetched, shape().hash_functions); ++i) {
    __builtin_prefetch(words() + positions.Next() / 64);
  }
}

// Relaxed loads and ORs: what an adder was told reaches others through a socket or a lock, and that orders these bits
// too.
bool ClassicBloom::Contains(const KeyHash& hash) const {
  Positions positions(hash, shape().bits);
  for (uint32_t i = 0; i < shape().hash_functions; ++i) {
    const uint64_t position = positions.Next();
    const uint64_t word = __atomic_load_n(words() + position / 64, __ATOMIC_RELAXED);
    if ((word >> (position % 64) & 1) == 0) return false;
  }
  return true;
}

uint32_t ClassicBloom::SetIfNew(const KeyHash& hash) {
  const StripeGuard guard(StripeLocks::OfHash(hash.low ^ reinterpret_cast<uintptr_t>(this)));
  if (Contains(hash)) return 0;
  Positions positions(hash, shape().bits);
  uint32_t bits_set = 0;
  for (uint32_t i = 0; i < shape().hash_functions; ++i) {
    const uint64_t position = positions.Next();
    const uint64_t bit = uint64_t{1} << (position % 64);
    bits_set += (__atomic_fetch_or(words() + position / 64, bit, __ATOMIC_RELAXED) & bit) == 0;
  }
  return bits_set;
}

void ClassicBloom::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (Contains(hashes[i])) present[i] = 1;
  }
}

LinkProgress ClassicBloom::Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added,
                               uint64_t room) {
  LinkProgress progress{0, 0, 0};
  for (; progress.done < hashes.size(); ++progress.done) {
    const KeyHash& hash = hashes[progress.done];
    added[progress.done] = 0;
    if (skip[progress.done] != 0 || Contains(hash)) continue;
    if (progress.added == room) break;
    // Another item may have set the last missing bit just now: then this one is present, whoever set it.
    const uint32_t bits_set = SetIfNew(hash);
    added[progress.done] = bits_set != 0;
    progress.added += bits_set != 0;
    progress.bits_set += bits_set;
  }
  return progress;
}

uint64_t ClassicBloom::UniteWith(const Link& other) {
  const auto* from = reinterpret_cast<const uint64_t*>(other.memory().data());
  uint64_t bits_set = 0;
  for (uint64_t i = 0; i < memory().size_bytes() / sizeof(uint64_t); ++i) {
    const uint64_t bits = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    if (bits == 0) continue;
    bits_set += static_cast<uint64_t>(std::popcount(bits & ~__atomic_fetch_or(words() + i, bits, __ATOMIC_RELAXED)));
  }
  return bits_set;
}

double ClassicBloom::EstimatedRate() const {
  return std::pow(FillRatio(set_bits(), shape().bits), shape().hash_functions);
}

}  // namespace bitsieve::core
