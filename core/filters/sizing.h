// sizing.h: the arithmetic of Bloom filters: bits, hash functions, error rates and what a fill tells. Pure functions of
// numbers; no bit is touched here. n items, m bits, k bits set per item, p the false positive rate.
// Arguments are finite and positive, p in (0, 1), unless said otherwise. Thread-safe.
#pragma once

#include <cstdint>

namespace bitsieve::core {

// --- classic Bloom filter (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970; the forms below
// --- as in Broder and Mitzenmacher, "Network Applications of Bloom Filters", 2004, section 2)

// m = ceil(-n ln p / (ln 2)^2).
uint64_t ClassicBits(uint64_t items, double rate);
// Items that m bits hold at p: floor(-m (ln 2)^2 / ln p).
uint64_t ClassicCapacity(uint64_t bits, double rate);
// k = ceil(log2(1/p)), the number of hash functions that published tables give for a rate.
uint32_t ClassicHashesForRate(double rate);
// The k with the least rate for m bits and n items: one of the two integers around (m/n) ln 2. At least 1.
uint32_t ClassicOptimalHashes(uint64_t bits, uint64_t items);
// p = (1 - e^(-kn/m))^k.
double ClassicRate(uint64_t bits, uint32_t hashes, double items);

// --- blocked Bloom filter: lines of 512 bits, of 16 lanes of 32 bits; an item sets one bit in each of k chosen lanes
// of
// --- one line, or of each of two distinct lines (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
// Filters",
// --- 2007, for the idea; the closed form of the Poisson sum is by inclusion and exclusion over the queried bits)

// The chance that a line into which `items_per_line` items were thrown on average (Poisson) covers a k-lane pattern
// that is not in it. 1 <= k <= 16. Exact to about 1e-11.
double LineRate(uint32_t lanes_per_line, double items_per_line);
// The rate of a whole filter: LineRate to the power of lines_per_item, which is 1 or 2.
double BlockedRate(uint64_t lines, uint32_t lines_per_item, uint32_t lanes_per_line, double items);

struct BlockedShape {
  uint64_t lines;
  uint32_t lines_per_item;
  uint32_t lanes_per_line;
};
// The smallest shape that keeps `rate` with `items`. Below kTwoLinesBelowRate two lines per item are the smaller choice
// by a tenth and more.
inline constexpr double kTwoLinesBelowRate = 2e-4;
BlockedShape BlockedShapeFor(uint64_t items, double rate);
// Items that a shape holds at `rate`.
uint64_t BlockedCapacity(const BlockedShape& shape, double rate);

// --- what the fill tells, of both kinds

// Set bits over bits.
double FillRatio(uint64_t set_bits, uint64_t bits);
// Distinct items from the fill: n = -(m/k) ln(1 - X/m) (Swamidass and Baldi, "Mathematical Correction for Fingerprint
// Similarity Measures to Improve Chemical Retrieval", 2007). Infinite for a full filter.
double EstimatedItems(uint64_t set_bits, uint64_t bits, uint32_t hashes);

}  // namespace bitsieve::core
