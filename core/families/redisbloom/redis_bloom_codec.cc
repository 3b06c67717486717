#include "core/families/redisbloom/redis_bloom_codec.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redis_bloom.h"
#include "core/families/redisbloom/redis_bloom_chain.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

namespace {

// RedisBloom's option bits.
constexpr uint32_t kForce64 = 4;  // 64-bit hashes
constexpr uint32_t kNoScaling = 8;
constexpr uint32_t kKnownOptions = 15;

constexpr size_t kFixedBytes = 20;
constexpr size_t kSubFilterBytes = 53;
// Before 2.2: no growth, and 32-bit entries.
constexpr size_t kOldFixedBytes = 16;
constexpr size_t kOldSubFilterBytes = 49;

constexpr std::string_view kBloomHeaderSource = "RedisBloom header";  // of errors

uint32_t OptionsOf(const FilterParams& params) {
  return RedisBloomMarksOf(params).options | (params.hash == HashKind::kRedisBloom ? kForce64 : 0) |
         (params.scaling() ? 0 : kNoScaling);
}

struct Fields {
  uint64_t items;
  uint32_t sub_filters;
  uint32_t options;
  uint32_t growth;
  bool old;
};

Result<Fields> GetFields(ByteReader& in, size_t bytes) {
  Fields fields{};
  fields.items = in.Get<uint64_t>();
  fields.sub_filters = in.Get<uint32_t>();
  fields.options = in.Get<uint32_t>();
  if (!in.ok()) return Corrupt(kBloomHeaderSource, "it is too short");
  if (fields.sub_filters == 0 || fields.sub_filters > kMaxSubFilters)
    return Corrupt(kBloomHeaderSource, "the number of filters is out of range");
  fields.old = bytes == kOldFixedBytes + kOldSubFilterBytes * fields.sub_filters;
  if (!fields.old && bytes != kFixedBytes + kSubFilterBytes * fields.sub_filters) {
    return Corrupt(kBloomHeaderSource, "its length does not match its number of filters");
  }
  fields.growth = fields.old ? kOldRedisGrowth : in.Get<uint32_t>();
  if ((fields.options & ~kKnownOptions) != 0) return Corrupt(kBloomHeaderSource, "an option is unknown");
  if (fields.growth > kMaxExpansion) return Corrupt(kBloomHeaderSource, "the growth is out of range");
  if (fields.growth == 0 && (fields.options & kNoScaling) == 0)
    return Corrupt(kBloomHeaderSource, "it is scaling, but its growth is 0");
  return fields;
}

// The number of bits in `bytes`, if the field that holds it agrees. Old versions left it empty, or gave the modulus.
bool GetBits(uint64_t bytes, uint64_t stated, bool old, SubFilterShape& shape) {
  if (bytes == 0 || bytes > RedisBloom::kMaxBytes) return false;
  shape.bits = bytes * 8;
  if (stated == shape.bits) return true;
  return old && shape.log2_positions != 0 && (stated == 0 || stated == uint64_t{1} << shape.log2_positions);
}

Result<SubFilterRecord> GetSubFilter(ByteReader& in, bool old, const std::string& which) {
  SubFilterRecord sub_filter{};
  sub_filter.shape.layout = &kRedisBloomLayout;
  const auto bytes = in.Get<uint64_t>();
  const auto bits = in.Get<uint64_t>();
  sub_filter.items = in.Get<uint64_t>();
  sub_filter.shape.error_rate = in.GetDouble();
  sub_filter.shape.bits_per_entry = in.GetDouble();
  sub_filter.shape.hash_functions = in.Get<uint32_t>();
  sub_filter.shape.capacity = old ? in.Get<uint32_t>() : in.Get<uint64_t>();
  sub_filter.shape.log2_positions = in.Get<uint8_t>();
  if (sub_filter.shape.log2_positions > 63) return Corrupt(kBloomHeaderSource, "n2 of " + which + " is out of range");
  if (!GetBits(bytes, bits, old, sub_filter.shape))
    return Corrupt(kBloomHeaderSource, "bits and bytes of " + which + " do not match");
  if (!IsValid(sub_filter.shape)) return Corrupt(kBloomHeaderSource, "the shape of " + which + " is impossible");
  if (sub_filter.items > RedisBloom::kMaxEntries)
    return Corrupt(kBloomHeaderSource, which + " holds more items than it can");
  return sub_filter;
}

Result<std::vector<SubFilterRecord>> GetSubFilters(ByteReader& in, const Fields& fields, ItemCounts counts) {
  std::vector<SubFilterRecord> sub_filters;
  uint64_t items = 0;
  uint64_t bytes = 0;
  uint64_t hash_functions = 0;
  for (uint32_t i = 0; i < fields.sub_filters; ++i) {
    const Result<SubFilterRecord> sub_filter = GetSubFilter(in, fields.old, "filter " + std::to_string(i));
    if (!sub_filter) return tl::unexpected(sub_filter.error());
    bytes += sub_filter->shape.BodyBytes();
    hash_functions += sub_filter->shape.hash_functions;
    if (bytes > RedisBloom::kMaxBytes || hash_functions > RedisBloomChain::kMaxHashFunctions)
      return Corrupt(kBloomHeaderSource, "it is too large");
    items += sub_filter->items;
    sub_filters.push_back(*sub_filter);
  }
  if (counts == ItemCounts::kSummed && items != fields.items)
    return Corrupt(kBloomHeaderSource, "the sizes of its filters do not add up to its total");
  return sub_filters;
}

// Returns the parameters that were requested for the filter, as far as its header shows them: the rate of its first
// sub-filter is half of the requested one, or all of it in a filter that does not scale. (Old versions gave the first
// sub-filter all of it. Twice that is still above the sum of all.)
FilterParams ParamsOf(const Fields& fields, const SubFilterShape& first) {
  FilterParams params;
  params.type = kRedisBloomType;
  params.capacity = first.capacity;
  const bool scaling = (fields.options & kNoScaling) == 0;
  params.expansion = scaling ? fields.growth : 0;
  params.error_rate = scaling && first.error_rate < 0.5 ? 2 * first.error_rate : first.error_rate;
  params.hash = (fields.options & kForce64) != 0 ? HashKind::kRedisBloom : HashKind::kRedisBloom32;
  SetRedisBloomMarks(params, {fields.options & ~(kForce64 | kNoScaling), scaling ? 0 : fields.growth});
  return Settled(params);
}

}  // namespace

std::string EncodeRedisBloomHeader(const FilterParams& params, const std::vector<SubFilterRecord>& sub_filters) {
  std::string bytes;
  ByteWriter out(bytes);
  uint64_t items = 0;
  for (const SubFilterRecord& sub_filter : sub_filters) items += sub_filter.items;
  out.Put(items);
  out.Put(static_cast<uint32_t>(sub_filters.size()));
  out.Put(OptionsOf(params));
  out.Put(params.scaling() ? params.expansion : RedisBloomMarksOf(params).growth);
  for (const SubFilterRecord& sub_filter : sub_filters) {
    out.Put(sub_filter.shape.BodyBytes());
    out.Put(sub_filter.shape.bits);
    out.Put(sub_filter.items);
    out.Put(sub_filter.shape.error_rate);
    out.Put(sub_filter.shape.bits_per_entry);
    out.Put(sub_filter.shape.hash_functions);
    out.Put(sub_filter.shape.capacity);
    out.Put(sub_filter.shape.log2_positions);
  }
  return bytes;
}

Result<ChainHeader> DecodeRedisBloomHeader(std::string_view bytes, ItemCounts counts) {
  ByteReader in(bytes);
  const Result<Fields> fields = GetFields(in, bytes.size());
  if (!fields) return tl::unexpected(fields.error());
  Result<std::vector<SubFilterRecord>> sub_filters = GetSubFilters(in, *fields, counts);
  if (!sub_filters) return tl::unexpected(sub_filters.error());
  const FilterParams params = ParamsOf(*fields, sub_filters->front().shape);
  if (const Status status = Validate(params); !status) return Corrupt(kBloomHeaderSource, status.error().message);
  return ChainHeader{kRedisBloomChain, params, std::move(*sub_filters)};
}

Result<std::unique_ptr<FilterDecoder>> OpenRedisBloom(std::string_view header_bytes, ItemCounts counts,
                                                      MemoryBudget& budget) {
  Result<ChainHeader> header = DecodeRedisBloomHeader(header_bytes, counts);
  if (!header) return tl::unexpected(std::move(header).error());
  return OpenChain(std::move(*header), budget);
}

}  // namespace bitsieve::core
