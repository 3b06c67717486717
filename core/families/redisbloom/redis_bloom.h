// redis_bloom.h: the Bloom filter that RedisBloom has, bit for bit. Answers "definitely not" or "probably yes"; wrong
// with the second at about the requested rate, never with the first.
//
// Idea        a filter that came from RedisBloom, or is to go there, must place its bits where RedisBloom looks for
//             them. So hashing, sizing and layout are RedisBloom's, and with them what they cost.
// Layout      one array of `bits` bits, bit x in byte x / 8 under the mask 1 << (x % 8); whole 64-bit words in what is
//             made today, whole bytes in what version 2.2.0 made. All of it persists.
// Hashing     plain double hashing: position i is (low + i * high) mod 2^64 mod bits. The two halves are MurmurHash64A
//             under a fixed seed, and again under its own result; in RedisBloom's first versions MurmurHash2 of 32 bits
//             likewise (HashKind determines which). Where log2_positions is not 0, positions are modulo its power of
//             two: RedisBloom's 32-bit arithmetic of that time gives the low bits of the same sum.
// Sizing      bits per entry b = |ln(rate)| / 0.480453013918201, bits = entries * b, cut to an integer and rounded up
//             to words, k = ceil(0.693147180559945 * b): RedisBloom's decimal constants and its order of operations,
//             since k is worked out from the stored b again when bytes are read.
// Operations  as ClassicBloom.
// Cost        as ClassicBloom, and some instructions more for each position.
// Limits      the items' hashes are the same in every filter: there is no seed, so a known false positive of one filter
//             is one of every filter of this size and content. Plain double hashing does not keep low rates on small
//             filters (classic_bloom.h).
// Threads     as SubFilter.
// Persisted   type 7; docs/filters/redisbloom.md.
#pragma once

#include "core/families/bloom/positions.h"
#include "core/families/bloom/spread_bloom.h"

namespace bitsieve::core {

extern const SubFilterLayout kRedisBloomLayout;

class RedisBloom final : public SpreadBloom<SteppedPositions> {
 public:
  // Rounding of the number of bits: up to words today, up to a power of two in the first versions.
  enum class Rounding { kToWords, kToPowerOfTwo };
  static Rounding RoundingOf(const FilterParams& params);

  static constexpr uint64_t kMaxBytes = uint64_t{1} << 53;  // of a sub-filter; also of all of a filter's
  static constexpr uint64_t kMaxEntries = uint64_t{1} << 50;
  static constexpr uint32_t kMaxHashFunctions = 1100;  // the smallest rate that a double can hold needs 1075

  RedisBloom(const SubFilterShape& shape, BitMemory memory);

  static double BitsPerEntry(double error_rate);
  static uint32_t HashFunctions(double bits_per_entry);
  // Returns a shape that is not valid for a capacity so large that no memory holds it.
  static SubFilterShape ShapeFor(uint64_t capacity, double error_rate, Rounding rounding);
  static bool IsValidShape(const SubFilterShape& shape);

  std::optional<double> EstimatedRate() const override;
};

}  // namespace bitsieve::core
