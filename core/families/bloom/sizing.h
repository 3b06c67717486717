// sizing.h: the arithmetic of Bloom filters: bits, hash functions, error rates and estimates from the fill. Pure
// functions of numbers; no bit is touched here. n items, m bits, k bits set per item, p the false positive rate.
// Arguments are finite and positive, p in (0, 1), unless said otherwise. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

namespace bitsieve::core {

// Refers to a function from a number of items to an error rate, and allocates nothing: filters are sized where memory
// that is refused could not be reported.
class RateOfItems {
 public:
  template <class Rate>
  RateOfItems(const Rate& rate)
      : rate_(&rate), call_([](const void* it, double items) { return (*static_cast<const Rate*>(it))(items); }) {}
  double operator()(double items) const { return call_(rate_, items); }

 private:
  const void* rate_;
  double (*call_)(const void* rate, double items);
};

// --- classic Bloom filter (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970; the forms below
// --- as in Broder and Mitzenmacher, "Network Applications of Bloom Filters", 2004, section 2)

// m = ceil(-n ln p / (ln 2)^2).
uint64_t ClassicBits(uint64_t items, double rate);
// k = ceil(log2(1/p)), the number of hash functions that published tables give for a rate.
uint32_t ClassicHashesForRate(double rate);
// The k with the least rate for m bits and n items: one of the two integers around (m/n) ln 2. At least 1.
uint32_t ClassicOptimalHashes(uint64_t bits, uint64_t items);
// p = (1 - e^(-kn/m))^k.
double ClassicRate(uint64_t bits, uint32_t hashes, double items);

// Returns the rate with two effects that the formula above leaves out and that matter where m is small or p is low:
//   - The fill X / m varies from filter to filter, and E[(X/m)^k] is above (E[X/m])^k (Bose et al., "On the
//     false-positive rate of Bloom filters", 2008). Here: the exact mean and variance of X, the number of different
//     bits among kn throws, and a lognormal fill, which is above the exact sum by up to a third at n = 1.
//   - Two items whose starts and steps are alike share all of their positions (positions.h): StepCollisions.
double FiniteClassicRate(uint64_t bits, uint32_t hashes, double items);
// The chance that an absent item's positions are set because start and step are nearly those of a stored item. Two
// items agree in all k positions if their starts differ by less than about 1 / m and their steps by less than about
// 1 / (k m), and where they agree in most, the fill does the rest:
//   2 n / (k m)^2 * (1 - fill)^-1.6 * (13 / k)^0.4 for k from 8 on; below it is negligible.
// The two factors on the right are fitted to simulations of k from 4 to 20, n from 1 to 50 and fills from 0 to 1/2.
double StepCollisions(uint64_t bits, uint32_t hashes, double items, double fill);

// Returns the rate of a filter of `items` items with `set_bits` bits set: (X/m)^k plus StepCollisions. Nothing for a
// few bits with many hash functions, where there are too few positions for either.
std::optional<double> ClassicRateNow(uint64_t bits, uint32_t hashes, uint64_t set_bits, uint64_t items);

// How plain double hashing places an item, of two hashes modulo a number of positions that is no prime.
enum class Stepping : uint8_t {
  kFromFirst,   // a, a + b, a + 2b, ..
  kFromSecond,  // a, b, a + 2b, a + 3b, ..
};

// Return the rates of a filter with such positions: expected with so many items that were new when they were added, and
// as of now. Beside the items that the fill takes for known there are those whose step shares a divisor with the number
// of positions, and so takes them to a few positions again and again: fill / (1 - fill) / positions of them, times 0.5
// to 1.2 by simulation; with kFromSecond, where they have one position more, `fill` times as many. Nothing where they
// are so many that the formula is not good enough.
double SteppedRate(Stepping stepping, uint64_t positions, uint32_t hashes, double items);
std::optional<double> SteppedRateNow(Stepping stepping, uint64_t positions, uint32_t hashes, uint64_t set_bits,
                                     uint64_t items);

// A size is made larger if its rate is above the requested rate by more than this factor.
inline constexpr double kRateTolerance = 1.02;

struct ClassicShape {
  uint64_t bits;
  uint32_t hashes;
};
// ClassicBits and ClassicOptimalHashes, with as many more bits as it takes for FiniteClassicRate to be at most
// kRateTolerance times `rate` once the filter is full. `counts_new`: it is full after `items` items that were new when
// they were added (NewItemTrials); else after `items` additions. max_hashes >= 1.
ClassicShape ClassicShapeFor(uint64_t items, double rate, uint32_t max_hashes, bool counts_new);

// --- blocked Bloom filter: lines of 512 bits, of 16 lanes of 32 bits; an item sets one bit in each of k chosen lanes
// --- of one line, or of each of two distinct lines (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
// --- Filters", 2007, for the idea; the closed form of the Poisson sum is by inclusion and exclusion over the queried
// --- bits)

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
// The smallest shape that keeps `rate` with `items` that were new when they were added. Below kTwoLinesBelowRate two
// lines per item are the smaller choice by a tenth and more.
inline constexpr double kTwoLinesBelowRate = 2e-4;
BlockedShape BlockedShapeFor(uint64_t items, double rate);

// --- both types

// Returns how many different items must be added, on average, until `items` of them were new to the filter: those that
// it takes for known set no bit that is clear, but they are not counted. rate(x) is the rate of the filter after x
// items. The result is n + the sum of rate(x) over x from 1 to that number, as an integral.
double NewItemTrials(double items, RateOfItems rate);

// --- estimates from the fill, for both types

// Set bits over bits.
double FillRatio(uint64_t set_bits, uint64_t bits);
// Distinct items from the fill: n = -(m/k) ln(1 - X/m) (Swamidass and Baldi, "Mathematical Correction for Fingerprint
// Similarity Measures to Improve Chemical Retrieval", 2007). Infinite for a full filter.
double EstimatedItems(uint64_t set_bits, uint64_t bits, uint32_t hashes);

}  // namespace bitsieve::core
