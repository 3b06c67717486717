// redis_bloom_chain.h: a chain of RedisBloom sub-filters that grows as RedisBloom's filters do: what a RedisBloomFilter
// is once it is large.
//
// Growth      a new sub-filter has `expansion` times the entries of the one before, and half its error rate: the first
//             has half the requested rate (all of it if the filter does not grow), so that their sum stays below it.
//             Nothing bounds the number of sub-filters: with EXPANSION 1 each lookup reads more and more of them.
// Limits      growing ends (kCannotGrow) where RedisBloom's numbers would wrap around, where the rate would be 0, and
//             where no reader would take the filter back: at kMaxSubFilters, and at kMaxHashFunctions.
// Threads     thread-safe; MayContain and Prefetch take no lock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/families/bloom/scalable_filter.h"

namespace bitsieve::core {

class RedisBloomChain final : public ScalableFilter {
 public:
  static constexpr uint64_t kMaxHashFunctions = 1 << 20;  // of one lookup, over all sub-filters

  using ScalableFilter::ScalableFilter;

  static Result<SubFilterShape> FirstShape(const ChainType& type, const FilterParams& params);
  static std::optional<SubFilterShape> NextShape(const ChainType& type, const FilterParams& params,
                                                 const ChainEnd& end);

  FilterInfo Info() const override;
  // Returns the size that RedisBloom reports.
  uint64_t size_bytes() const override;
  // Returns the record of each sub-filter, oldest first.
  std::vector<SubFilterRecord> Records() const;
  // Both do what those of RedisBloomFilter do.
  std::string ReadPiece(uint64_t offset, size_t most) const;
  bool WritePiece(uint64_t offset, std::string_view bytes);

  // Return what RedisBloom reports for a filter without its sub-filters, and for one of those.
  static uint64_t ReportedBytes() { return 32; }
  static uint64_t ReportedBytesOf(const SubFilterShape& shape) { return 64 + shape.BodyBytes(); }
  // The header of an image.
  static std::string ImageHeader(const FilterParams& params, const std::vector<SubFilterRecord>& records);

 private:
  friend class RedisBloomFilter;

  const ChainType& chain_type() const override;
  std::string EncodeHeader(const std::vector<SubFilterRecord>& records) const override {
    return ImageHeader(params(), records);
  }
};

// The chain of such a filter.
extern const ChainType kRedisBloomChain;

}  // namespace bitsieve::core
