#include "core/families/bloom/sizing.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/families/bloom/block_kernel.h"

namespace bitsieve::core {

namespace {

constexpr double kLn2 = std::numbers::ln2;

using LaneCounts = std::array<double, kLanes + 1>;

double Choose(unsigned n, unsigned k) {
  if (k > n) return 0;
  double value = 1;
  for (unsigned i = 0; i < k; ++i) value = value * (n - i) / (i + 1);
  return value;
}

// misses[i]: the chance that one stored item misses i given bits, each in another lane:
//   E_i = sum over t of C(i,t) C(S-i,k-t) / C(S,k) (1 - 1/w)^t,
// where t of the item's k lanes are among the i (hypergeometric) and each of those then has another bit of its w.
LaneCounts MissChances(unsigned k) {
  LaneCounts misses{};
  for (unsigned i = 0; i <= k; ++i) {
    for (unsigned t = 0; t <= i && t <= k; ++t) {
      misses[i] += Choose(i, t) * Choose(kLanes - i, k - t) / Choose(kLanes, k) * std::pow(1 - 1.0 / kLaneBits, t);
    }
  }
  return misses;
}

const LaneCounts& CachedMissChances(unsigned k) {
  static const auto table = [] {
    std::array<LaneCounts, kLanes + 1> all{};
    for (unsigned lanes = 1; lanes <= kLanes; ++lanes) all[lanes] = MissChances(lanes);
    return all;
  }();
  return table[k];
}

// The largest mean load of a line at which LineRate stays at or below `rate`: it grows with the load, so bisect.
double LoadFor(uint32_t lanes_per_line, double rate) {
  double low = 0;
  double high = 1;
  while (LineRate(lanes_per_line, high) < rate) high *= 2;
  for (int i = 0; i < 48; ++i) {
    const double middle = (low + high) / 2;
    (LineRate(lanes_per_line, middle) <= rate ? low : high) = middle;
  }
  return low;
}

double ShortCycles(Stepping stepping, uint64_t positions, uint32_t hashes, double fill) {
  const double of_first = 0.8 * fill / (1 - fill) / static_cast<double>(positions);
  if (stepping == Stepping::kFromFirst) return of_first;
  return hashes <= 2 ? 0 : fill * of_first;  // two are the hashes themselves
}

}  // namespace

uint64_t ClassicBits(uint64_t items, double rate) {
  return static_cast<uint64_t>(std::ceil(-static_cast<double>(items) * std::log(rate) / (kLn2 * kLn2)));
}

uint32_t ClassicHashesForRate(double rate) { return std::max(1U, static_cast<uint32_t>(std::ceil(-std::log2(rate)))); }

uint32_t ClassicOptimalHashes(uint64_t bits, uint64_t items) {
  const auto below =
      static_cast<uint32_t>(std::max(1.0, std::floor(static_cast<double>(bits) / static_cast<double>(items) * kLn2)));
  const auto n = static_cast<double>(items);
  return ClassicRate(bits, below, n) <= ClassicRate(bits, below + 1, n) ? below : below + 1;
}

double ClassicRate(uint64_t bits, uint32_t hashes, double items) {
  return std::pow(-std::expm1(-static_cast<double>(hashes) * items / static_cast<double>(bits)), hashes);
}

double StepCollisions(uint64_t bits, uint32_t hashes, double items, double fill) {
  constexpr uint32_t kFewest = 8;
  if (hashes < kFewest || fill >= 1) return 0;
  const double spread = static_cast<double>(bits) * hashes;
  return 2 * items / (spread * spread) * std::pow(1 - fill, -1.6) * std::pow(13.0 / hashes, 0.4);
}

double FiniteClassicRate(uint64_t bits, uint32_t hashes, double items) {
  const auto m = static_cast<double>(bits);
  const double throws = items * hashes;
  const double one_clear = std::exp(throws * std::log1p(-1 / m));
  const double two_clear = bits > 2 ? std::exp(throws * std::log1p(-2 / m)) : 0;
  const double mean = 1 - one_clear;
  const double variance = std::max(0.0, two_clear * (1 - 1 / m) + one_clear / m - one_clear * one_clear);
  const double spread = hashes * (hashes - 1.0) / 2 * variance / (mean * mean);
  return std::min(1.0, std::pow(mean, hashes) * std::exp(spread) + StepCollisions(bits, hashes, items, mean));
}

std::optional<double> ClassicRateNow(uint64_t bits, uint32_t hashes, uint64_t set_bits, uint64_t items) {
  if (bits < 3 * uint64_t{hashes} && hashes >= 8) return std::nullopt;
  const double fill = FillRatio(set_bits, bits);
  return std::min(1.0, std::pow(fill, hashes) + StepCollisions(bits, hashes, static_cast<double>(items), fill));
}

double SteppedRate(Stepping stepping, uint64_t positions, uint32_t hashes, double items) {
  const double added = NewItemTrials(items, [&](double throws) { return ClassicRate(positions, hashes, throws); });
  const double fill = ClassicRate(positions, 1, added * hashes);
  return std::min(1.0, std::pow(fill, hashes) + ShortCycles(stepping, positions, hashes, fill));
}

std::optional<double> SteppedRateNow(Stepping stepping, uint64_t positions, uint32_t hashes, uint64_t set_bits,
                                     uint64_t items) {
  if (items == 0) return 0;
  const double fill = FillRatio(set_bits, positions);
  if (fill >= 1) return 1;
  const double short_cycles = ShortCycles(stepping, positions, hashes, fill);
  const double rate = std::pow(fill, hashes) + short_cycles;
  if (short_cycles > rate / 8) return std::nullopt;
  return rate;
}

ClassicShape ClassicShapeFor(uint64_t items, double rate, uint32_t max_hashes, bool counts_new) {
  const uint64_t nominal = ClassicBits(items, rate);
  const uint32_t hashes = std::min(ClassicOptimalHashes(nominal, items), max_hashes);
  const auto n = static_cast<double>(items);
  const auto keeps = [&](uint64_t bits) {
    const auto rate_after = [&](double added) { return ClassicRate(bits, hashes, added); };
    const double added = counts_new ? NewItemTrials(n, rate_after) : n;
    return FiniteClassicRate(bits, hashes, added) <= kRateTolerance * rate;
  };
  if (keeps(nominal)) return {nominal, hashes};
  uint64_t low = nominal;  // too few
  uint64_t high = nominal + nominal / 16 + 1;
  while (!keeps(high)) high += std::exchange(low, high);
  while (high - low > std::max<uint64_t>(1, low / 1024)) {
    const uint64_t middle = low + (high - low) / 2;
    (keeps(middle) ? high : low) = middle;
  }
  return {high, hashes};
}

double LineRate(uint32_t lanes_per_line, double items_per_line) {
  assert(lanes_per_line >= 1 && lanes_per_line <= kLanes);
  const LaneCounts& misses = CachedMissChances(lanes_per_line);
  double sum = 0;
  for (unsigned i = 0; i <= lanes_per_line; ++i) {
    const double term = Choose(lanes_per_line, i) * std::exp(-items_per_line * (1 - misses[i]));
    sum += i % 2 == 0 ? term : -term;
  }
  return std::clamp(sum, 0.0, 1.0);
}

double BlockedRate(uint64_t lines, uint32_t lines_per_item, uint32_t lanes_per_line, double items) {
  const double one = LineRate(lanes_per_line, items * lines_per_item / static_cast<double>(lines));
  return lines_per_item == 2 ? one * one : one;
}

BlockedShape BlockedShapeFor(uint64_t items, double rate) {
  const uint32_t lines_per_item = rate < kTwoLinesBelowRate ? 2 : 1;
  const double line_rate = lines_per_item == 2 ? std::sqrt(rate) : rate;
  // The best number of lanes lies a little below the classic log2(1/p); the load falls off to both sides of it.
  const double classic = -std::log2(line_rate);
  const auto first = static_cast<uint32_t>(std::clamp(classic * 0.75, 1.0, double{kLanes}));
  const auto last = static_cast<uint32_t>(std::clamp(classic + 1, 1.0, double{kLanes}));
  uint32_t best_lanes = first;
  double best_load = 0;
  for (uint32_t lanes = first; lanes <= last; ++lanes) {
    const double load = LoadFor(lanes, line_rate);
    if (load > best_load) {
      best_load = load;
      best_lanes = lanes;
    }
  }
  const auto n = static_cast<double>(items);
  const double nominal = std::ceil(n * lines_per_item / best_load);
  // The load of a full filter is that of all items that were added, the ones that it took for known among them.
  const double trials = NewItemTrials(n, [&](double added) {
    return BlockedRate(static_cast<uint64_t>(std::max(nominal, 2.0)), lines_per_item, best_lanes, added);
  });
  const double full = BlockedRate(static_cast<uint64_t>(nominal), lines_per_item, best_lanes, trials);
  const double lines = full <= kRateTolerance * rate ? nominal : std::ceil(trials * lines_per_item / best_load);
  return {std::max<uint64_t>(static_cast<uint64_t>(lines), lines_per_item), lines_per_item, best_lanes};
}

double NewItemTrials(double items, RateOfItems rate) {
  constexpr int kIntervals = 8;
  constexpr double kNegligible = 0.02;  // then it changes the rate by less than the tolerance
  if (items <= 1 || rate(items) < kNegligible) return items;
  double trials = items;
  // Each round takes the integral to what the one before found; it settles quickly, since the rate is at most 1/4.
  for (int round = 0; round < 4; ++round) {
    double sum = 0;  // Simpson's rule; nothing is wrong about an empty filter
    for (int i = 1; i <= kIntervals; ++i)
      sum += (i == kIntervals ? 1 : i % 2 == 1 ? 4 : 2) * rate(trials * i / kIntervals);
    const double integral = sum * trials / (3 * kIntervals);
    trials = items + std::max(0.0, integral - rate(trials) / 2);
  }
  return trials;
}

double FillRatio(uint64_t set_bits, uint64_t bits) { return static_cast<double>(set_bits) / static_cast<double>(bits); }

double EstimatedItems(uint64_t set_bits, uint64_t bits, uint32_t hashes) {
  if (set_bits >= bits) return std::numeric_limits<double>::infinity();
  return -static_cast<double>(bits) / hashes * std::log1p(-FillRatio(set_bits, bits));
}

}  // namespace bitsieve::core
