#include "core/families/redisbloom/redis_bloom_chain.h"

#include "core/base/bytes.h"
#include "core/families/redisbloom/redis_bloom.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/families/redisbloom/redis_bloom_filter.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

constexpr ChainType kRedisBloomChain{
    .type = kRedisBloomType,
    .layout = kRedisBloomLayout,
    .make_empty = [](const FilterParams& params, MemoryBudget& budget) -> std::unique_ptr<ScalableFilter> {
      return std::make_unique<RedisBloomChain>(params, budget);
    },
    .first_shape = RedisBloomChain::FirstShape,
    .next_shape = RedisBloomChain::NextShape,
    .own_bytes = [](uint32_t) { return RedisBloomChain::ReportedBytes(); },
    .sub_filter_bytes = RedisBloomChain::ReportedBytesOf,
    .made_of = RedisBloomFilter::Of};

const ChainType& RedisBloomChain::chain_type() const { return kRedisBloomChain; }

Result<SubFilterShape> RedisBloomChain::FirstShape(const ChainType&, const FilterParams& params) {
  const double rate = params.error_rate * params.first_share;
  const SubFilterShape shape = RedisBloom::ShapeFor(params.capacity, rate, RedisBloom::RoundingOf(params));
  if (!IsValid(shape))
    return Fail(ErrorCode::kInvalidArgument, "no filter of this capacity and error rate is possible");
  return shape;
}

std::optional<SubFilterShape> RedisBloomChain::NextShape(const ChainType&, const FilterParams& params,
                                                         const ChainEnd& end) {
  uint64_t capacity = 0;
  if (__builtin_mul_overflow(end.newest.capacity, uint64_t{params.expansion}, &capacity)) return std::nullopt;
  const SubFilterShape shape =
      RedisBloom::ShapeFor(capacity, end.newest.error_rate * 0.5, RedisBloom::RoundingOf(params));
  const bool is_too_long =
      end.sub_filters >= kMaxSubFilters || end.hash_functions + shape.hash_functions > kMaxHashFunctions;
  if (is_too_long || !IsValid(shape)) return std::nullopt;
  return shape;
}

FilterInfo RedisBloomChain::Info() const {
  FilterInfo info = ScalableFilter::Info();
  info.size_bytes = size_bytes();
  return info;
}

uint64_t RedisBloomChain::size_bytes() const {
  return ReportedBytes() + chain().Sum([](const SubFilter& sub_filter) { return ReportedBytesOf(sub_filter.shape()); });
}

std::vector<SubFilterRecord> RedisBloomChain::Records() const {
  std::vector<SubFilterRecord> records;
  for (const SubFilter* sub_filter : AllSubFilters()) records.push_back({sub_filter->shape(), sub_filter->items()});
  return records;
}

std::string RedisBloomChain::ReadPiece(uint64_t offset, size_t most) const {
  for (const SubFilter* sub_filter : AllSubFilters()) {
    const uint64_t size = sub_filter->shape().BodyBytes();
    if (offset >= size) {
      offset -= size;
      continue;
    }
    std::string piece(std::min<uint64_t>(size - offset, most), '\0');
    sub_filter->memory().CopyOut(offset, std::as_writable_bytes(std::span(piece)));
    return piece;
  }
  return {};
}

bool RedisBloomChain::WritePiece(uint64_t offset, std::string_view bytes) {
  bool written = false;
  const auto write = [&](std::span<SubFilter* const> sub_filters) -> Result<uint64_t> {
    for (SubFilter* sub_filter : sub_filters) {
      const uint64_t size = sub_filter->shape().BodyBytes();
      if (offset >= size) {
        offset -= size;
        continue;
      }
      if (bytes.size() > size - offset) break;
      const std::span there = sub_filter->memory().bytes().subspan(offset, bytes.size());
      const uint64_t before = sub_filter->CountSet(there);
      sub_filter->memory().CopyIn(offset, AsBytes(bytes));
      sub_filter->CountChange(0, sub_filter->CountSet(there) - before);
      written = true;
      break;
    }
    return written ? 1 : 0;
  };
  return Unite(write) && written;
}

std::string RedisBloomChain::ImageHeader(const FilterParams& params, const std::vector<SubFilterRecord>& records) {
  std::string bytes;
  BeginHeader(bytes, kRedisBloomType);
  bytes += EncodeRedisBloomHeader(params, records);
  SealHeader(bytes);
  return bytes;
}

}  // namespace bitsieve::core
