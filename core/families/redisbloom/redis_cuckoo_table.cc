#include "core/families/redisbloom/redis_cuckoo_table.h"

#include <utility>

namespace bitsieve::core {

namespace {

uint64_t RoundedToLines(uint64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

}  // namespace

Result<std::unique_ptr<RedisCuckooTable>> RedisCuckooTable::Make(uint64_t buckets, uint32_t bucket_size,
                                                                 MemoryBudget& budget) {
  Result<BitMemory> memory = BitMemory::Allocate(RoundedToLines(buckets * bucket_size), budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  return std::make_unique<RedisCuckooTable>(buckets, bucket_size, std::move(*memory), 0);
}

}  // namespace bitsieve::core
