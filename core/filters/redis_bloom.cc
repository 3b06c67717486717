#include "core/filters/redis_bloom.h"

#include <algorithm>
#include <cmath>

#include "core/bits/stripe_locks.h"
#include "core/filters/sizing.h"

namespace bitsieve::core {

namespace {

// RedisBloom's decimals, not the nearest doubles.
constexpr double kLn2 = 0.693147180559945;
constexpr double kLn2Squared = 0.480453013918201;

constexpr uint32_t kMaxLog2Positions = 56;
constexpr double kMaxBits = static_cast<double>(RedisBloom::kMaxBytes) * 8;

class SteppedPositions {
 public:
  SteppedPositions(const KeyHash& hash, uint64_t positions) : at_(hash.low), step_(hash.high), positions_(positions) {}
  uint64_t Next() {
    const uint64_t position = at_ % positions_;
    at_ += step_;
    return position;
  }

 private:
  uint64_t at_;
  const uint64_t step_;
  const uint64_t positions_;
};

// Bits, in whole words.
uint64_t WordBits(uint64_t bits) { return (bits + 63) / 64 * 64; }

}  // namespace

RedisBloom::RedisBloom(const LinkShape& shape, BitMemory memory)
    : Link(shape, std::move(memory)),
      positions_(shape.log2_positions == 0 ? shape.bits : uint64_t{1} << shape.log2_positions) {}

double RedisBloom::BitsPerEntry(double error_rate) { return std::abs(std::log(error_rate) / kLn2Squared); }

uint32_t RedisBloom::HashFunctions(double bits_per_entry) {
  const double hashes = std::ceil(kLn2 * bits_per_entry);
  return hashes >= 1 && hashes <= kMaxHashFunctions ? static_cast<uint32_t>(hashes) : 0;
}

LinkShape RedisBloom::ShapeFor(uint64_t capacity, double error_rate, Rounding rounding) {
  LinkShape shape{FilterKind::kRedisBloom, capacity, error_rate, 0, 0, 0};
  shape.bits_per_entry = BitsPerEntry(error_rate);
  shape.hash_functions = HashFunctions(shape.bits_per_entry);
  const double wanted = static_cast<double>(capacity) * shape.bits_per_entry;
  if (!(wanted <= kMaxBits / 2)) return shape;
  if (rounding == Rounding::kToWords) {
    shape.bits = WordBits(std::max(uint64_t{1}, static_cast<uint64_t>(wanted)));
    return shape;
  }
  shape.log2_positions = static_cast<uint8_t>(std::floor(std::log2(std::max(wanted, 1.0)))) + 1;
  const uint64_t positions = uint64_t{1} << shape.log2_positions;
  shape.bits = WordBits(positions);
  shape.capacity += static_cast<uint64_t>((static_cast<double>(positions) - wanted) / shape.bits_per_entry);
  return shape;
}

bool RedisBloom::IsValidShape(const LinkShape& shape) {
  const double wanted = static_cast<double>(shape.capacity) * shape.bits_per_entry;
  // Written so that NaN is refused.
  return shape.capacity <= kMaxEntries && shape.lines_per_item == 0 && shape.bits >= 8 && shape.bits % 8 == 0 &&
         shape.bits / 8 <= kMaxBytes && shape.bits_per_entry > 0 && shape.hash_functions >= 1 &&
         shape.hash_functions == HashFunctions(shape.bits_per_entry) && shape.log2_positions <= kMaxLog2Positions &&
         uint64_t{1} << shape.log2_positions <= shape.bits &&
         wanted <= static_cast<double>(shape.bits) * (1 + 1e-9) + 1;
}

void RedisBloom::Prefetch(const KeyHash& hash) const {
  // An absent item is mostly found out by its first bits: more lines than these would be loaded for nothing.
  constexpr uint32_t kPrefetched = 3;
  SteppedPositions positions(hash, positions_);
  for (uint32_t i = 0; i < std::min(kPrefetched, shape().hash_functions); ++i) {
    __builtin_prefetch(words() + positions.Next() / 64);
  }
}

// Relaxed loads and ORs: what an adder was told reaches others through a socket or a lock, and that orders these bits
// too.
bool RedisBloom::Contains(const KeyHash& hash) const {
  SteppedPositions positions(hash, positions_);
  for (uint32_t i = 0; i < shape().hash_functions; ++i) {
    const uint64_t position = positions.Next();
    const uint64_t word = __atomic_load_n(words() + position / 64, __ATOMIC_RELAXED);
    if ((word >> (position % 64) & 1) == 0) return false;
  }
  return true;
}

uint32_t RedisBloom::SetIfNew(const KeyHash& hash) {
  const StripeGuard guard(StripeLocks::OfHash(hash.low ^ reinterpret_cast<uintptr_t>(this)));
  if (Contains(hash)) return 0;
  SteppedPositions positions(hash, positions_);
  uint32_t bits_set = 0;
  for (uint32_t i = 0; i < shape().hash_functions; ++i) {
    const uint64_t position = positions.Next();
    const uint64_t bit = uint64_t{1} << (position % 64);
    bits_set += (__atomic_fetch_or(words() + position / 64, bit, __ATOMIC_RELAXED) & bit) == 0;
  }
  return bits_set;
}

void RedisBloom::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (Contains(hashes[i])) present[i] = 1;
  }
}

LinkProgress RedisBloom::Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added,
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

double RedisBloom::EstimatedRate() const {
  return std::pow(std::min(1.0, FillRatio(set_bits(), positions_)), shape().hash_functions);
}

}  // namespace bitsieve::core
