#include "core/families/redisbloom/redisbloom_types.h"

#include <array>

#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/families/redisbloom/redis_bloom_filter.h"
#include "core/families/redisbloom/redis_cuckoo.h"
#include "core/families/redisbloom/redis_cuckoo_codec.h"

namespace bitsieve::core {

namespace {

void SettleRedisBloom(FilterParams& params) {
  params.seed = 0;
  if (params.hash != HashKind::kRedisBloom32) params.hash = HashKind::kRedisBloom;
  params.tightening_ratio = 0.5;
  params.first_share = params.scaling() ? 0.5 : 1;
}

// The header keeps the expansion that NONSCALING overrides, as RedisBloom's does.
Status SettleRedisBloomOptions(const StatedOptions& stated, FilterParams& params) {
  if (stated.seed || stated.tightening) {
    return OutOfRange("TYPE redisbloom uses RedisBloom's seed and tightening ratio: omit SEED and TIGHTENING");
  }
  RedisBloomMarks marks = RedisBloomMarksOf(params);
  if (stated.nonscaling) marks.growth = stated.overridden_expansion;
  SetRedisBloomMarks(params, marks);
  return {};
}

// Wider ranges than those of other types: what RedisBloom has made must be readable.
Status ValidateRedisBloom(const FilterParams& params) {
  if (!(params.error_rate > 0 && params.error_rate < 1)) return OutOfRange("error rate must be in the range (0, 1)");
  if (params.capacity < 1) return OutOfRange("capacity must be at least 1");
  if (Status status = ValidateExpansion(params.expansion); !status) return status;
  if (params.hash != HashKind::kRedisBloom && params.hash != HashKind::kRedisBloom32) {
    return OutOfRange("a filter of type redisbloom has its own hash functions");
  }
  return {};
}

// Its rate and its hash follow from the rest, and what was dumped may be larger than any that is reserved.
Status ValidateRedisCuckoo(const FilterParams& params) {
  if (params.capacity < 1 || params.capacity > kMaxRedisCuckooCapacity) {
    return OutOfRange("capacity must be in the range [1, " + std::to_string(kMaxRedisCuckooCapacity) + "]");
  }
  return ValidateExpansion(params.expansion);
}

const RedisBloomFilter& BloomOf(const Filter& filter) { return static_cast<const RedisBloomFilter&>(filter); }
const RedisCuckoo& CuckooOf(const Filter& filter) { return static_cast<const RedisCuckoo&>(filter); }

Result<std::unique_ptr<FilterDecoder>> OpenCuckooHeader(std::string_view bytes, ItemCounts, MemoryBudget& budget) {
  const Result<RedisCuckooHeader> header = DecodeRedisCuckooHeader(bytes);
  if (!header) return tl::unexpected(header.error());
  return OpenRedisCuckooDump(*header, budget);
}

constexpr RedisBloomForm kBloomForm{
    .header = [](const Filter& filter) { return BloomOf(filter).Header(); },
    .read = [](const Filter& filter, uint64_t offset, size_t most) { return BloomOf(filter).ReadPiece(offset, most); },
    .write = [](Filter& filter, uint64_t offset,
                std::string_view bytes) { return static_cast<RedisBloomFilter&>(filter).WritePiece(offset, bytes); },
    .open = OpenRedisBloom,
};

constexpr RedisBloomForm kCuckooForm{
    .header = [](const Filter& filter) { return EncodeRedisCuckooHeader(CuckooOf(filter).Header()); },
    .read = [](const Filter& filter, uint64_t offset, size_t most) { return CuckooOf(filter).ReadChunk(offset, most); },
    .write = [](Filter& filter, uint64_t offset,
                std::string_view bytes) { return static_cast<RedisCuckoo&>(filter).WriteChunk(offset, bytes); },
    .open = OpenCuckooHeader,
};

}  // namespace

namespace {

constexpr std::array kBloomParams{kRedisBloomOptions, kRedisBloomGrowth};
constexpr std::array kCuckooParams{kRedisCuckooBucketSize, kRedisCuckooIterations};

}  // namespace

constexpr FilterTypeRow kRedisBloomRow{
    .type = kRedisBloomType,
    .name = "redisbloom",
    .summary = "the hashes, sizes and bytes of RedisBloom, for moving to it and from it",
    .made = {.by_default = true},
    .own_params = kBloomParams,
    .settle = SettleRedisBloom,
    .settle_options = SettleRedisBloomOptions,
    .validate = ValidateRedisBloom,
    .make = [](const FilterParams& params, MemoryBudget& budget,
               const Clock&) { return RedisBloomFilter::Make(params, budget); },
    // An image has a checksum: what it holds was so when it was written.
    .open = [](std::string_view fields, MemoryBudget& budget,
               const Clock&) { return OpenRedisBloom(fields, ItemCounts::kDrifted, budget); },
    .summarize =
        [](std::string_view fields) { return SummaryOf(DecodeRedisBloomHeader(fields, ItemCounts::kDrifted)); },
    .redisbloom_form = &kBloomForm,
    .forecast = [](const FilterParams& params,
                   uint64_t items) { return ScalableFilter::ForecastOf(kRedisBloomChain, params, items); },
};

constexpr FilterTypeRow kRedisCuckooRow{
    .type = kRedisCuckooType,
    .name = "rediscuckoo",
    .summary = "RedisBloom's cuckoo filter, byte for byte; made by CF.*",
    .can = {.remove = true, .count = true, .repeats = true},
    .made = {.by_reserve = false},
    .value_name = kCuckooValueName,
    .own_params = kCuckooParams,
    .validate = ValidateRedisCuckoo,
    .make = [](const FilterParams& params, MemoryBudget& budget,
               const Clock&) { return RedisCuckoo::Make(params, budget); },
    .open = [](std::string_view fields, MemoryBudget& budget, const Clock&) { return OpenRedisCuckoo(fields, budget); },
    .summarize = [](std::string_view fields) { return SummaryOf(DecodeRedisCuckooHeader(fields)); },
    .redisbloom_form = &kCuckooForm,
};

}  // namespace bitsieve::core
