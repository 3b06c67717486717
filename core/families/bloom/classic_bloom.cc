#include "core/families/bloom/classic_bloom.h"

#include <algorithm>

#include "core/families/bloom/fold.h"
#include "core/families/bloom/sizing.h"

namespace bitsieve::core {

constexpr SubFilterLayout kClassicLayout{
    .shape_for = [](uint64_t capacity, double error_rate,
                    const FilterParams&) { return ClassicBloom::ShapeFor(capacity, error_rate); },
    .is_valid = ClassicBloom::IsValidShape,
    .make = [](const SubFilterShape& shape, BitMemory memory) -> std::unique_ptr<SubFilter> {
      return std::make_unique<ClassicBloom>(shape, std::move(memory));
    },
    .rate_with =
        [](const SubFilterShape& shape, double items) {
          const auto rate_after = [&](double added) { return ClassicRate(shape.bits, shape.hash_functions, added); };
          return FiniteClassicRate(shape.bits, shape.hash_functions, NewItemTrials(items, rate_after));
        },
    .fold_unit_bits = 1,
};

SubFilterShape ClassicBloom::ShapeFor(uint64_t capacity, double error_rate) {
  constexpr bool kCountsNew = true;
  const ClassicShape shape = ClassicShapeFor(capacity, error_rate, kMaxHashFunctions, kCountsNew);
  return {&kClassicLayout, capacity, error_rate, FoldableSize(shape.bits), shape.hashes, 0};
}

bool ClassicBloom::IsValidShape(const SubFilterShape& shape) {
  return shape.lines_per_item == 0 && shape.hash_functions >= 1 && shape.hash_functions <= kMaxHashFunctions &&
         shape.bits >= 1 && shape.bits <= UINT64_MAX / 2;
}

std::optional<double> ClassicBloom::EstimatedRate() const {
  return ClassicRateNow(shape().bits, shape().hash_functions, set_bits(), items());
}

}  // namespace bitsieve::core
