#include "core/families/bloom/blocked_bloom.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "core/families/bloom/fold.h"
#include "core/families/bloom/sizing.h"

namespace bitsieve::core {

namespace {

BlockArray ArrayOf(const SubFilterShape& shape, BitMemory& memory) {
  const unsigned lanes_per_line = shape.hash_functions / shape.lines_per_item;
  return {memory.data(), &memory, shape.bits / kLineBits, shape.lines_per_item, LaneSets(lanes_per_line).data()};
}

}  // namespace

namespace {

double RateWith(const SubFilterShape& shape, double items) {
  const uint64_t lines = shape.bits / kLineBits;
  const uint32_t lanes_per_line = shape.hash_functions / shape.lines_per_item;
  const auto rate_after = [&](double added) { return BlockedRate(lines, shape.lines_per_item, lanes_per_line, added); };
  return rate_after(NewItemTrials(items, rate_after));
}

}  // namespace

constexpr SubFilterLayout kBlockedLayout{
    .shape_for = [](uint64_t capacity, double error_rate,
                    const FilterParams&) { return BlockedBloom::ShapeFor(capacity, error_rate); },
    .is_valid = BlockedBloom::IsValidShape,
    .make = [](const SubFilterShape& shape, BitMemory memory) -> std::unique_ptr<SubFilter> {
      return std::make_unique<BlockedBloom>(shape, std::move(memory));
    },
    .rate_with = RateWith,
    .spreads = false,
    .fold_unit_bits = kLineBits,
};

BlockedBloom::BlockedBloom(const SubFilterShape& shape, BitMemory bits, const BlockKernel& kernel)
    : BitSubFilter(shape, std::move(bits)), array_(ArrayOf(this->shape(), memory())), kernel_(kernel) {}

SubFilterShape BlockedBloom::ShapeFor(uint64_t capacity, double error_rate) {
  const BlockedShape shape = BlockedShapeFor(capacity, error_rate);
  const uint64_t lines = shape.lines_per_item == 1 ? FoldableSize(shape.lines) : shape.lines;
  return {&kBlockedLayout,     capacity, error_rate, lines * kLineBits, shape.lines_per_item * shape.lanes_per_line,
          shape.lines_per_item};
}

bool BlockedBloom::IsValidShape(const SubFilterShape& shape) {
  if (shape.lines_per_item != 1 && shape.lines_per_item != 2) return false;
  const uint32_t lanes_per_line = shape.hash_functions / shape.lines_per_item;
  return shape.hash_functions % shape.lines_per_item == 0 && lanes_per_line >= 1 && lanes_per_line <= kLanes &&
         shape.bits % kLineBits == 0 && shape.bits / kLineBits >= shape.lines_per_item && shape.bits <= UINT64_MAX / 2;
}

namespace {

// The chance that a line covers a pattern of k lanes, any k of the 16 being equally likely: the mean of the products of
// k lanes' fills, by the elementary symmetric polynomial.
double RateOfLine(const std::byte* line, unsigned k) {
  std::array<double, kLanes + 1> sums{1};  // sums[j]: of the products of j lanes so far
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const auto* const word = reinterpret_cast<const uint32_t*>(line) + lane;
    const double fill = std::popcount(__atomic_load_n(word, __ATOMIC_RELAXED)) / double{kLaneBits};
    for (unsigned j = std::min(lane + 1, k); j > 0; --j) sums[j] += sums[j - 1] * fill;
  }
  double subsets = 1;
  for (unsigned j = 0; j < k; ++j) subsets = subsets * (kLanes - j) / (j + 1);
  return sums[k] / subsets;
}

// Returns the rate of a filter of few lines, which Poisson's law does not describe, from the fill of each line.
double RateOfEachLine(const BlockArray& array, unsigned lanes_per_line) {
  const auto lines = static_cast<double>(array.line_count);
  double sum = 0;
  double squares = 0;
  for (uint64_t i = 0; i < array.line_count; ++i) {
    const double rate = RateOfLine(array.lines + i * kLineBytes, lanes_per_line);
    sum += rate;
    squares += rate * rate;
  }
  return array.lines_per_item == 2 ? (sum * sum - squares) / (lines * (lines - 1)) : sum / lines;
}

}  // namespace

std::optional<double> BlockedBloom::EstimatedRate() const {
  constexpr uint64_t kFewLines = 256;
  const unsigned lanes_per_line = shape().hash_functions / shape().lines_per_item;
  if (array_.line_count <= kFewLines) return RateOfEachLine(array_, lanes_per_line);
  const double items = EstimatedItems(set_bits(), shape().bits, shape().hash_functions);
  if (std::isinf(items)) return 1;
  return BlockedRate(array_.line_count, shape().lines_per_item, lanes_per_line, items);
}

}  // namespace bitsieve::core
