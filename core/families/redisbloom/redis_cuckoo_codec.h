// redis_cuckoo_codec.h: the description of a cuckoo filter of RedisBloom: the 38 bytes that CF.SCANDUMP gives first, as
// numbers and back. What is read is checked field by field; nothing is allocated on its word. Thread-safe: plain values
// and free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_params.h"

namespace bitsieve::core {

inline constexpr size_t kRedisCuckooHeaderBytes = 38;
inline constexpr uint64_t kMaxRedisCuckooFilters = 65535;  // what 16 bits count: RedisBloom's readers keep no more

struct RedisCuckooHeader {
  uint64_t items = 0;    // additions less removals, so the fingerprints that are there
  uint64_t buckets = 1;  // of the oldest sub-filter; a power of two
  uint64_t deletes = 0;  // since the last compaction
  uint64_t filters = 1;
  uint16_t bucket_size = 0;
  uint16_t max_iterations = 0;
  uint16_t expansion = 0;  // a power of two, or 0

  // Returns the bytes, which are slots, of sub-filter `index`.
  uint64_t TableBytes(uint64_t index) const;
  // Returns the bytes of all sub-filters together.
  uint64_t BodyBytes() const;
  ImageSummary Summary() const { return {.capacity = BodyBytes(), .items = items}; }
};

// Returns the header of an empty filter with these parameters, which are valid.
RedisCuckooHeader RedisCuckooHeaderFor(const FilterParams& params);
// Returns parameters whose header is that of an empty filter like this one.
FilterParams RedisCuckooParamsFor(const RedisCuckooHeader& header);

std::string EncodeRedisCuckooHeader(const RedisCuckooHeader& header);
// Returns whether bytes of this size may be a header that DecodeRedisCuckooHeader accepts.
bool IsRedisCuckooHeaderSize(size_t size);
// Also decodes the 46 bytes that RedisBloom 2.2 wrote, whose tail means nothing. kCorrupt names the field; kUnsupported
// for the 32 bytes of 2.0, whose fingerprints come from another hash.
Result<RedisCuckooHeader> DecodeRedisCuckooHeader(std::string_view bytes);

// Opens a decoder as FilterDecoder::Open does, from the fields of a header of type rediscuckoo. The body must hold as
// many items as the header gives.
Result<std::unique_ptr<FilterDecoder>> OpenRedisCuckoo(std::string_view fields, MemoryBudget& budget);

// Opens a decoder from a header of CF.SCANDUMP; the chunks that follow are the body. They may have been read one by one
// while items came and went, so the items are counted in the body, and the header's count is ignored. kOutOfMemory if
// the budget refuses.
Result<std::unique_ptr<FilterDecoder>> OpenRedisCuckooDump(const RedisCuckooHeader& header, MemoryBudget& budget);

}  // namespace bitsieve::core
