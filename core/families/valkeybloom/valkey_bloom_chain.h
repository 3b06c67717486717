// valkey_bloom_chain.h: a chain of valkey-bloom's sub-filters, which grows and reports as valkey-bloom's filters do.
//
// Growth      a new sub-filter has `expansion` times the capacity of the one before; the rate of the one at index n is
//             p r^n, r the tightening ratio, so all of them together may be wrong at p / (1 - r): twice the requested
//             rate for the default of 0.5. The power is taken by repeated squaring, since another way differs in the
//             last bit.
// Limits      growing ends (kCannotGrow) where the rate is no normal double any more, where no memory holds the next
//             sub-filter, at kMaxSubFilters, and at kMaxHashFunctions. valkey-bloom's limit of 128 MB is not kept.
// Threads     thread-safe; MayContain and Prefetch take no lock.
#pragma once

#include "core/families/bloom/scalable_filter.h"

namespace bitsieve::core {

class ValkeyBloomChain final : public ScalableFilter {
 public:
  static constexpr uint64_t kMaxHashFunctions = 1 << 20;  // of one lookup, over all sub-filters

  using ScalableFilter::ScalableFilter;

  static Result<SubFilterShape> FirstShape(const ChainType& type, const FilterParams& params);
  static std::optional<SubFilterShape> NextShape(const ChainType& type, const FilterParams& params,
                                                 const ChainEnd& end);
  // Returns the rate of the sub-filter at an index, 0 for the first; 0 if it is no normal double.
  static double RateOf(const FilterParams& params, uint32_t index);
  // Returns the size that valkey-bloom reports: of the filter without its sub-filters, and of one of those.
  static uint64_t ReportedBytes(uint32_t sub_filters);
  static uint64_t ReportedBytesOf(const SubFilterShape& shape) { return 24 + 184 + shape.bits / 8; }
  // How far filters of some parameters grow within valkey-bloom's default limit, 128 MB of reported size.
  struct Reach {
    uint64_t capacity = 0;
    bool by_rate = false;  // ended by a rate that is no normal double
  };
  // Returns it. Ends early once there is the capacity that is asked for.
  static Reach ReachOf(const FilterParams& params, uint64_t enough = UINT64_MAX);

  FilterInfo Info() const override;
  // With the seed, which no other filter shares unless it is the fixed one.
  uint64_t heap_bytes() const override;
  // Returns the size that valkey-bloom reports.
  uint64_t size_bytes() const override;

 private:
  const ChainType& chain_type() const override;
};

extern const ChainType kValkeyBloomChain;

}  // namespace bitsieve::core
