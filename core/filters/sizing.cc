#include "core/filters/sizing.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/bits/block_kernel.h"

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

}  // namespace

uint64_t ClassicBits(uint64_t items, double rate) {
  return static_cast<uint64_t>(std::ceil(-static_cast<double>(items) * std::log(rate) / (kLn2 * kLn2)));
}

uint64_t ClassicCapacity(uint64_t bits, double rate) {
  return static_cast<uint64_t>(std::floor(static_cast<double>(bits) * kLn2 * kLn2 / -std::log(rate)));
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
  const double lines = std::ceil(static_cast<double>(items) * lines_per_item / best_load);
  return {std::max<uint64_t>(static_cast<uint64_t>(lines), lines_per_item), lines_per_item, best_lanes};
}

uint64_t BlockedCapacity(const BlockedShape& shape, double rate) {
  const double line_rate = shape.lines_per_item == 2 ? std::sqrt(rate) : rate;
  return static_cast<uint64_t>(LoadFor(shape.lanes_per_line, line_rate) * static_cast<double>(shape.lines) /
                               shape.lines_per_item);
}

double FillRatio(uint64_t set_bits, uint64_t bits) { return static_cast<double>(set_bits) / static_cast<double>(bits); }

double EstimatedItems(uint64_t set_bits, uint64_t bits, uint32_t hashes) {
  if (set_bits >= bits) return std::numeric_limits<double>::infinity();
  return -static_cast<double>(bits) / hashes * std::log1p(-FillRatio(set_bits, bits));
}

}  // namespace bitsieve::core
