#include "core/families/valkeybloom/valkey_bloom.h"

#include <algorithm>
#include <cmath>

#include "core/families/bloom/sizing.h"

namespace bitsieve::core {

constexpr SubFilterLayout kValkeyBloomLayout{
    .shape_for = [](uint64_t capacity, double error_rate,
                    const FilterParams&) { return ValkeyBloom::ShapeFor(capacity, error_rate); },
    .is_valid = ValkeyBloom::IsValidShape,
    .make = [](const SubFilterShape& shape, BitMemory memory) -> std::unique_ptr<SubFilter> {
      return std::make_unique<ValkeyBloom>(shape, std::move(memory));
    },
    .rate_with =
        [](const SubFilterShape& shape, double items) {
          return SteppedRate(Stepping::kFromSecond, shape.bits, shape.hash_functions, items);
        },
};

SubFilterShape ValkeyBloom::ShapeFor(uint64_t capacity, double error_rate) {
  constexpr double kLn2 = 0.6931471805599453;
  SubFilterShape shape{&kValkeyBloomLayout, capacity, error_rate, 0, 0, 0};
  const auto n = static_cast<double>(capacity);
  const double bytes = std::ceil(n * std::log(error_rate) / (-8.0 * (kLn2 * kLn2)));
  if (!(bytes >= 1 && bytes <= static_cast<double>(kMaxBytes))) return shape;
  shape.bits = static_cast<uint64_t>(bytes) * 8;
  const double hashes = std::round(static_cast<double>(shape.bits) / n * kLn2);
  shape.hash_functions = static_cast<uint32_t>(std::clamp(hashes, 1.0, kMaxHashFunctions + 1.0));
  return shape;
}

bool ValkeyBloom::IsValidShape(const SubFilterShape& shape) {
  return shape.capacity <= kMaxCapacity && shape.lines_per_item == 0 && shape.hash_functions >= 1 &&
         shape.hash_functions <= kMaxHashFunctions && shape.bits >= 8 && shape.bits % 8 == 0 &&
         shape.bits / 8 <= kMaxBytes;
}

std::optional<double> ValkeyBloom::EstimatedRate() const {
  return SteppedRateNow(Stepping::kFromSecond, shape().bits, shape().hash_functions, set_bits(), items());
}

}  // namespace bitsieve::core
