#include "core/families/valkeybloom/valkey_bloom_chain.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/families/bloom/chain_codec.h"
#include "core/families/valkeybloom/valkey_bloom.h"
#include "core/families/valkeybloom/valkey_bloom_type.h"
#include "core/filter/shared_params.h"
#include "core/memory/memory_source.h"

namespace bitsieve::core {

namespace {

double PowerOf(double base, uint32_t exponent) {
  double power = 1;
  for (;; base *= base) {
    if (exponent % 2 != 0) power *= base;
    exponent /= 2;
    if (exponent == 0) return power;
  }
}

}  // namespace

constexpr ChainType kValkeyBloomChain{
    .type = kValkeyBloomType,
    .layout = kValkeyBloomLayout,
    .make_empty = [](const FilterParams& params, MemoryBudget& budget) -> std::unique_ptr<ScalableFilter> {
      return std::make_unique<ValkeyBloomChain>(params, budget);
    },
    .first_shape = ValkeyBloomChain::FirstShape,
    .next_shape = ValkeyBloomChain::NextShape,
    .own_bytes = ValkeyBloomChain::ReportedBytes,
    .sub_filter_bytes = ValkeyBloomChain::ReportedBytesOf};

const ChainType& ValkeyBloomChain::chain_type() const { return kValkeyBloomChain; }

double ValkeyBloomChain::RateOf(const FilterParams& params, uint32_t index) {
  const double rate = params.error_rate * PowerOf(params.tightening_ratio, index);
  return rate > std::numeric_limits<double>::min() ? rate : 0;
}

Result<SubFilterShape> ValkeyBloomChain::FirstShape(const ChainType&, const FilterParams& params) {
  const SubFilterShape shape = ValkeyBloom::ShapeFor(params.capacity, params.error_rate);
  if (!IsValid(shape))
    return Fail(ErrorCode::kInvalidArgument, "no filter of this capacity and error rate is possible");
  return shape;
}

std::optional<SubFilterShape> ValkeyBloomChain::NextShape(const ChainType&, const FilterParams& params,
                                                          const ChainEnd& end) {
  uint64_t capacity = 0;
  const double rate = RateOf(params, end.sub_filters);
  if (rate == 0 || __builtin_mul_overflow(end.newest.capacity, uint64_t{params.expansion}, &capacity)) {
    return std::nullopt;
  }
  const SubFilterShape shape = ValkeyBloom::ShapeFor(capacity, rate);
  const bool is_too_long =
      end.sub_filters >= kMaxSubFilters || end.hash_functions + shape.hash_functions > kMaxHashFunctions;
  if (is_too_long || !IsValid(shape)) return std::nullopt;
  return shape;
}

uint64_t ValkeyBloomChain::ReportedBytes(uint32_t sub_filters) {
  const uint32_t places = sub_filters == 1 ? 1 : std::max(4U, std::bit_ceil(sub_filters));
  return 48 + uint64_t{8} * places;
}

ValkeyBloomChain::Reach ValkeyBloomChain::ReachOf(const FilterParams& params, uint64_t enough) {
  constexpr uint64_t kValkeyBloomLimit = 128 << 20;
  Reach reach;
  const Result<SubFilterShape> first = FirstShape(kValkeyBloomChain, params);
  std::optional<SubFilterShape> next;
  if (first) next = *first;
  uint64_t bytes = 0;
  uint64_t hash_functions = 0;
  for (uint32_t count = 1; next && reach.capacity < enough; ++count) {
    bytes += ReportedBytesOf(*next);
    if (bytes + ReportedBytes(count) > kValkeyBloomLimit) break;
    reach.capacity += next->capacity;
    hash_functions += next->hash_functions;
    if (!params.scaling()) break;
    reach.by_rate = RateOf(params, count) == 0;
    const SubFilterShape newest = *next;
    next = NextShape(kValkeyBloomChain, params, {newest, count, reach.capacity, hash_functions});
  }
  return reach;
}

uint64_t ValkeyBloomChain::heap_bytes() const {
  const uint64_t of_seed = HasFixedValkeySeed(shared_params()) ? 0 : core::BlockBytes(sizeof(SharedParams));
  return ScalableFilter::heap_bytes() + of_seed;
}

FilterInfo ValkeyBloomChain::Info() const {
  FilterInfo info = ScalableFilter::Info();
  info.size_bytes = size_bytes();
  return info;
}

uint64_t ValkeyBloomChain::size_bytes() const {
  return ReportedBytes(SubFilters()) +
         chain().Sum([](const SubFilter& sub_filter) { return ReportedBytesOf(sub_filter.shape()); });
}

}  // namespace bitsieve::core
