// redis_bloom_filter.h: a chain of RedisBloom sub-filters that grows as RedisBloom's filters do, and the header in
// which RedisBloom describes one (BF.SCANDUMP's first chunk).
//
// Growth      a new sub-filter has `expansion` times the entries of the one before, and half its error rate: the first
//             has half the requested rate (all of it if the filter does not grow), so that their sum stays below it.
//             Nothing bounds the number of sub-filters: with EXPANSION 1 each lookup reads more and more of them.
// Limits      growing ends (kCannotGrow) where RedisBloom's numbers would wrap around, or the rate would be 0.
// Reading     a header is hostile until it is checked. Stored numbers are kept, never worked out again: versions have
//             differed in how they shared the rate and rounded.
// Threads     thread-safe; MayContain and Prefetch take no lock.
// Persisted   type 7; docs/filters/redisbloom.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/families/bloom/scalable_filter.h"

namespace bitsieve::core {

class RedisBloomFilter final : public ScalableFilter {
 public:
  using ScalableFilter::ScalableFilter;

  static Result<SubFilterShape> FirstShape(const ChainType& type, const FilterParams& params);
  static std::optional<SubFilterShape> NextShape(const ChainType& type, const FilterParams& params,
                                                 const ChainEnd& end);

  FilterInfo Info() const override;
  // As RedisBloom reports it.
  uint64_t size_bytes() const override;
  // As of now.
  std::string Header() const;
  // The bytes that begin at `offset` of the sub-filters' bytes end to end, oldest first: at most `most`, and none
  // beyond the end of a sub-filter, as RedisBloom hands them out. None beyond the last.
  std::string ReadPiece(uint64_t offset, size_t most) const;
  // Puts bytes in place of those that ReadPiece returns from `offset` on, as RedisBloom does when chunks arrive of a
  // filter that is there. False, and nothing done, if they are not all of one sub-filter.
  bool WritePiece(uint64_t offset, std::string_view bytes);

 private:
  const ChainType& chain_type() const override;
  std::string EncodeHeader(const std::vector<SubFilterRecord>& records) const override;
};

// The chain of such a filter.
extern const ChainType kRedisBloomChain;

}  // namespace bitsieve::core
