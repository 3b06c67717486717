// redis_bloom_codec.h: the header by which RedisBloom describes a Bloom filter (the first chunk of BF.SCANDUMP), as
// bytes and back, of all versions. What is read is hostile until it is checked. Stored numbers are kept, never worked
// out again: versions have differed in how they shared the rate and rounded. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/families/bloom/chain_codec.h"

namespace bitsieve::core {

// The growth of filters made before there was a field for it.
inline constexpr uint32_t kOldRedisGrowth = 2;

std::string EncodeRedisBloomHeader(const FilterParams& params, const std::vector<SubFilterRecord>& sub_filters);
// kCorrupt names the field. Headers of all versions.
Result<ChainHeader> DecodeRedisBloomHeader(std::string_view bytes, ItemCounts counts);
// Begins to read a filter whose header is RedisBloom's own; its body is the sub-filters' bytes end to end.
Result<std::unique_ptr<FilterDecoder>> OpenRedisBloom(std::string_view header, ItemCounts counts, MemoryBudget& budget);

}  // namespace bitsieve::core
