#include "cli/plan/distinct_counter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/hash/key_hash.h"

namespace bitsieve::cli {
namespace {

// x + sum over k from 1 on of x^(2^k) 2^(k - 1): of the share of registers that no item chose.
double Sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double sum = x;
  for (double weight = 1, before = -1; sum != before; weight *= 2) {
    before = sum;
    x *= x;
    sum += x * weight;
  }
  return sum;
}

// (1 - x - sum over k from 1 on of (1 - x^(2^-k))^2 2^-k) / 3: of the share of registers that are not at their end.
double Tau(double x) {
  if (x == 0 || x == 1) return 0;
  double sum = 1 - x;
  for (double weight = 0.5, before = -1; sum != before; weight /= 2) {
    before = sum;
    x = std::sqrt(x);
    sum -= (1 - x) * (1 - x) * weight;
  }
  return sum / 3;
}

}  // namespace

void DistinctCounter::Add(std::string_view item) {
  const uint64_t hash = core::HashItem(item, 0).low;
  const uint64_t stop = uint64_t{1} << (kIndexBits - 1);  // after the last bit that counts
  const auto zeros = static_cast<uint8_t>(std::countl_zero(hash << kIndexBits | stop));
  uint8_t& kept = registers_[hash >> (64 - kIndexBits)];
  kept = std::max<uint8_t>(kept, zeros + 1);
  ++added_;
}

double DistinctCounter::Estimate() const {
  std::array<uint32_t, kMaxZeros + 2> counts{};
  for (const uint8_t kept : registers_) ++counts[kept];
  constexpr auto kAll = static_cast<double>(kRegisters);
  double sum = kAll * Tau(1 - counts[kMaxZeros + 1] / kAll);
  for (uint32_t i = kMaxZeros; i >= 1; --i) sum = (sum + counts[i]) / 2;
  sum += kAll * Sigma(counts[0] / kAll);
  return std::min(kAll * kAll / (2 * std::numbers::ln2 * sum), static_cast<double>(added_));
}

uint64_t DistinctCounter::UpperEstimate() const {
  return std::min(static_cast<uint64_t>(std::ceil(Estimate() * (1 + 2 * kStandardError))), added_);
}

}  // namespace bitsieve::cli
