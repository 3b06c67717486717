#include "core/filters/redis_bloom_filter.h"

#include <cmath>

#include "core/base/bytes.h"
#include "core/filters/chain_decoder.h"
#include "core/filters/redis_bloom.h"

namespace bitsieve::core {

namespace {

// RedisBloom's option bits.
constexpr uint32_t kNoRound = 1;  // sizes are not rounded up to powers of two
constexpr uint32_t kForce64 = 4;  // 64-bit hashes
constexpr uint32_t kNoScaling = 8;
constexpr uint32_t kKnownOptions = 15;

constexpr size_t kFixedBytes = 20;
constexpr size_t kLinkBytes = 53;
// Before 2.2: no growth, and 32-bit entries.
constexpr size_t kOldFixedBytes = 16;
constexpr size_t kOldLinkBytes = 49;
constexpr uint32_t kOldGrowth = 2;

constexpr uint64_t kMaxProbes = 1 << 20;  // of one lookup, over all links

tl::unexpected<Error> Corrupt(const std::string& what) {
  return Fail(ErrorCode::kCorrupt, "RedisBloom header: " + what);
}

RedisBloom::Rounding RoundingOf(const FilterParams& params) {
  return (params.redisbloom.options & kNoRound) != 0 ? RedisBloom::Rounding::kToWords
                                                     : RedisBloom::Rounding::kToPowerOfTwo;
}

uint32_t OptionsOf(const FilterParams& params) {
  return params.redisbloom.options | (params.hash == HashKind::kRedisBloom ? kForce64 : 0) |
         (params.scaling() ? 0 : kNoScaling);
}

struct Fields {
  uint64_t items;
  uint32_t links;
  uint32_t options;
  uint32_t growth;
  bool old;
};

Result<Fields> GetFields(ByteReader& in, size_t bytes) {
  Fields fields{};
  fields.items = in.Get<uint64_t>();
  fields.links = in.Get<uint32_t>();
  fields.options = in.Get<uint32_t>();
  if (!in.ok()) return Corrupt("it is too short");
  if (fields.links == 0 || fields.links > kMaxLinks) return Corrupt("the number of filters is out of range");
  fields.old = bytes == kOldFixedBytes + kOldLinkBytes * fields.links;
  if (!fields.old && bytes != kFixedBytes + kLinkBytes * fields.links) {
    return Corrupt("its length does not fit its number of filters");
  }
  fields.growth = fields.old ? kOldGrowth : in.Get<uint32_t>();
  if ((fields.options & ~kKnownOptions) != 0) return Corrupt("an option is not known");
  if (fields.growth > kMaxExpansion) return Corrupt("the growth is out of range");
  if (fields.growth == 0 && (fields.options & kNoScaling) == 0) return Corrupt("it scales by a growth of 0");
  return fields;
}

// The bits that `bytes` are, if the field that tells them agrees. Old versions left it empty, or gave the modulus.
bool GetBits(uint64_t bytes, uint64_t told, bool old, LinkShape& shape) {
  if (bytes == 0 || bytes > RedisBloom::kMaxBytes) return false;
  shape.bits = bytes * 8;
  if (told == shape.bits) return true;
  return old && shape.log2_positions != 0 && (told == 0 || told == uint64_t{1} << shape.log2_positions);
}

Result<LinkRecord> GetLink(ByteReader& in, bool old, const std::string& which) {
  LinkRecord link{};
  link.shape.kind = FilterKind::kRedisBloom;
  const auto bytes = in.Get<uint64_t>();
  const auto bits = in.Get<uint64_t>();
  link.items = in.Get<uint64_t>();
  link.shape.error_rate = in.GetDouble();
  link.shape.bits_per_entry = in.GetDouble();
  link.shape.hash_functions = in.Get<uint32_t>();
  link.shape.capacity = old ? in.Get<uint32_t>() : in.Get<uint64_t>();
  link.shape.log2_positions = in.Get<uint8_t>();
  if (link.shape.log2_positions > 63) return Corrupt("n2 of " + which + " is out of range");
  if (!GetBits(bytes, bits, old, link.shape)) return Corrupt("bits and bytes of " + which + " do not fit");
  if (!IsValid(link.shape)) return Corrupt("the shape of " + which + " is impossible");
  if (link.items > link.shape.capacity) return Corrupt(which + " holds more than it can");
  return link;
}

Result<std::vector<LinkRecord>> GetLinks(ByteReader& in, const Fields& fields) {
  std::vector<LinkRecord> links;
  uint64_t items = 0;
  uint64_t bytes = 0;
  uint64_t probes = 0;
  for (uint32_t i = 0; i < fields.links; ++i) {
    const Result<LinkRecord> link = GetLink(in, fields.old, "filter " + std::to_string(i));
    if (!link) return tl::unexpected(link.error());
    bytes += link->shape.BodyBytes();
    probes += link->shape.hash_functions;
    if (bytes > RedisBloom::kMaxBytes || probes > kMaxProbes) return Corrupt("it is too large");
    items += link->items;
    links.push_back(*link);
  }
  if (items != fields.items) return Corrupt("the sizes of its filters do not add up to its own");
  return links;
}

// What the filter was asked for, as far as its header tells: the rate of its first link is half of it, or all of it in
// one that does not scale. (Old versions gave the first link all of it. Twice that is still above the sum of all.)
FilterParams ParamsOf(const Fields& fields, const LinkShape& first) {
  FilterParams params;
  params.kind = FilterKind::kRedisBloom;
  params.capacity = first.capacity;
  const bool scaling = (fields.options & kNoScaling) == 0;
  params.expansion = scaling ? fields.growth : 0;
  params.error_rate = scaling && first.error_rate < 0.5 ? 2 * first.error_rate : first.error_rate;
  params.hash = (fields.options & kForce64) != 0 ? HashKind::kRedisBloom : HashKind::kRedisBloom32;
  params.redisbloom.options = fields.options & ~(kForce64 | kNoScaling);
  params.redisbloom.growth = scaling ? 0 : fields.growth;
  return Settled(params);
}

}  // namespace

Result<LinkShape> RedisBloomFilter::FirstShape(const FilterParams& params) {
  const double rate = params.error_rate * params.first_link_share;
  const LinkShape shape = RedisBloom::ShapeFor(params.capacity, rate, RoundingOf(params));
  if (!IsValid(shape))
    return Fail(ErrorCode::kInvalidArgument, "no filter of this capacity and error rate is possible");
  return shape;
}

std::optional<LinkShape> RedisBloomFilter::NextShape(const Node& newest) const {
  const LinkShape& before = newest.link->shape();
  uint64_t capacity = 0;
  if (__builtin_mul_overflow(before.capacity, uint64_t{params().expansion}, &capacity)) return std::nullopt;
  const LinkShape shape = RedisBloom::ShapeFor(capacity, before.error_rate * 0.5, RoundingOf(params()));
  if (newest.index + 1 == kMaxLinks || !IsValid(shape)) return std::nullopt;
  return shape;
}

FilterInfo RedisBloomFilter::Info() const {
  constexpr uint64_t kFixedSize = 32;
  constexpr uint64_t kSizeOfLink = 64;
  FilterInfo info = ScalableFilter::Info();
  info.size_bytes = kFixedSize;
  for (const Link* link : Links()) info.size_bytes += kSizeOfLink + link->shape().BodyBytes();
  return info;
}

std::string RedisBloomFilter::Header() const {
  std::vector<LinkRecord> records;
  for (const Link* link : Links()) records.push_back({link->shape(), link->items()});
  return EncodeRedisBloomHeader(params(), records);
}

void RedisBloomFilter::AppendPiece(uint64_t offset, size_t most, std::string& out) const {
  for (const Link* link : Links()) {
    const uint64_t size = link->shape().BodyBytes();
    if (offset >= size) {
      offset -= size;
      continue;
    }
    const size_t count = std::min<uint64_t>(size - offset, most);
    const size_t before = out.size();
    out.resize(before + count);
    return link->memory().CopyOut(offset, std::as_writable_bytes(std::span(out)).subspan(before));
  }
}

std::string RedisBloomFilter::EncodeHeader(const std::vector<LinkRecord>& records) const {
  std::string bytes;
  BeginHeader(bytes, FilterKind::kRedisBloom);
  bytes += EncodeRedisBloomHeader(params(), records);
  SealHeader(bytes);
  return bytes;
}

std::string EncodeRedisBloomHeader(const FilterParams& params, const std::vector<LinkRecord>& links) {
  std::string bytes;
  ByteWriter out(bytes);
  uint64_t items = 0;
  for (const LinkRecord& link : links) items += link.items;
  out.Put(items);
  out.Put(static_cast<uint32_t>(links.size()));
  out.Put(OptionsOf(params));
  out.Put(params.scaling() ? params.expansion : params.redisbloom.growth);
  for (const LinkRecord& link : links) {
    out.Put(link.shape.BodyBytes());
    out.Put(link.shape.bits);
    out.Put(link.items);
    out.Put(link.shape.error_rate);
    out.Put(link.shape.bits_per_entry);
    out.Put(link.shape.hash_functions);
    out.Put(link.shape.capacity);
    out.Put(link.shape.log2_positions);
  }
  return bytes;
}

Result<FilterHeader> DecodeRedisBloomHeader(std::string_view bytes) {
  ByteReader in(bytes);
  const Result<Fields> fields = GetFields(in, bytes.size());
  if (!fields) return tl::unexpected(fields.error());
  Result<std::vector<LinkRecord>> links = GetLinks(in, *fields);
  if (!links) return tl::unexpected(links.error());
  const FilterParams params = ParamsOf(*fields, links->front().shape);
  if (const Status status = Validate(params); !status) return Corrupt(status.error().message);
  return FilterHeader{params, std::move(*links)};
}

Result<std::unique_ptr<FilterDecoder>> OpenRedisBloom(std::string_view header_bytes, MemoryBudget& budget) {
  Result<FilterHeader> header = DecodeRedisBloomHeader(header_bytes);
  if (!header) return tl::unexpected(std::move(header).error());
  return OpenChain(std::move(*header), budget);
}

}  // namespace bitsieve::core
