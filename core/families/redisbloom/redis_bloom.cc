#include "core/families/redisbloom/redis_bloom.h"

#include <algorithm>
#include <cmath>

#include "core/families/bloom/sizing.h"
#include "core/families/redisbloom/redisbloom_types.h"

namespace bitsieve::core {

namespace {

// RedisBloom's decimals, not the nearest doubles.
constexpr double kStatedLn2 = 0.693147180559945;
constexpr double kStatedLn2Squared = 0.480453013918201;

constexpr uint32_t kMaxLog2Positions = 56;
constexpr double kMaxBits = static_cast<double>(RedisBloom::kMaxBytes) * 8;

uint64_t PositionsOf(const SubFilterShape& shape) {
  return shape.log2_positions == 0 ? shape.bits : uint64_t{1} << shape.log2_positions;
}

// Bits, in whole words.
uint64_t WordBits(uint64_t bits) { return (bits + 63) / 64 * 64; }

}  // namespace

constexpr SubFilterLayout kRedisBloomLayout{
    .shape_for =
        [](uint64_t capacity, double error_rate, const FilterParams& params) {
          return RedisBloom::ShapeFor(capacity, error_rate, RedisBloom::RoundingOf(params));
        },
    .is_valid = RedisBloom::IsValidShape,
    .make = [](const SubFilterShape& shape, BitMemory memory) -> std::unique_ptr<SubFilter> {
      return std::make_unique<RedisBloom>(shape, std::move(memory));
    },
    .rate_with =
        [](const SubFilterShape& shape, double items) {
          return SteppedRate(Stepping::kFromFirst, PositionsOf(shape), shape.hash_functions, items);
        },
    .byte_body = true,
};

RedisBloom::RedisBloom(const SubFilterShape& shape, BitMemory memory)
    : SpreadBloom(shape, std::move(memory), PositionsOf(shape)) {}

RedisBloom::Rounding RedisBloom::RoundingOf(const FilterParams& params) {
  constexpr uint32_t kNoRound = 1;  // RedisBloom's option bit: sizes are not rounded up to powers of two
  return (RedisBloomMarksOf(params).options & kNoRound) != 0 ? Rounding::kToWords : Rounding::kToPowerOfTwo;
}

double RedisBloom::BitsPerEntry(double error_rate) { return std::abs(std::log(error_rate) / kStatedLn2Squared); }

uint32_t RedisBloom::HashFunctions(double bits_per_entry) {
  const double hashes = std::ceil(kStatedLn2 * bits_per_entry);
  return hashes >= 1 && hashes <= kMaxHashFunctions ? static_cast<uint32_t>(hashes) : 0;
}

SubFilterShape RedisBloom::ShapeFor(uint64_t capacity, double error_rate, Rounding rounding) {
  SubFilterShape shape{&kRedisBloomLayout, capacity, error_rate, 0, 0, 0};
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

bool RedisBloom::IsValidShape(const SubFilterShape& shape) {
  const double wanted = static_cast<double>(shape.capacity) * shape.bits_per_entry;
  // Written so that NaN is refused.
  return shape.capacity <= kMaxEntries && shape.lines_per_item == 0 && shape.bits >= 8 && shape.bits % 8 == 0 &&
         shape.bits / 8 <= kMaxBytes && shape.bits_per_entry > 0 && shape.hash_functions >= 1 &&
         shape.hash_functions == HashFunctions(shape.bits_per_entry) && shape.log2_positions <= kMaxLog2Positions &&
         uint64_t{1} << shape.log2_positions <= shape.bits &&
         wanted <= static_cast<double>(shape.bits) * (1 + 1e-9) + 1;
}

std::optional<double> RedisBloom::EstimatedRate() const {
  return SteppedRateNow(Stepping::kFromFirst, positions(), shape().hash_functions, set_bits(), items());
}

}  // namespace bitsieve::core
