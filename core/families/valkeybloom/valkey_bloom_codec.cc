#include "core/families/valkeybloom/valkey_bloom_codec.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/families/valkeybloom/valkey_bloom.h"
#include "core/families/valkeybloom/valkey_bloom_chain.h"
#include "core/families/valkeybloom/valkey_bloom_type.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

namespace {

constexpr std::string_view kValkeySource = "valkey-bloom filter";  // of errors
constexpr uint8_t kSliceVersion = 1;
constexpr uint8_t kLoadVersion = 1;

struct Slice {
  uint32_t hash_functions = 0;
  std::string_view seed;
  std::string_view bits;
};

Result<Slice> ReadSlice(std::string_view bytes) {
  ByteReader in(bytes);
  Slice slice;
  const auto version = in.Get<uint8_t>();
  const auto size = in.Get<uint64_t>();
  slice.hash_functions = in.Get<uint32_t>();
  slice.seed = in.GetBytes(kValkeySeedBytes);
  slice.bits = in.GetBytes(in.remaining());
  if (!in.ok()) return Corrupt(kValkeySource, "a slice is too short");
  if (version != kSliceVersion) {
    return Fail(ErrorCode::kUnsupported,
                "valkey-bloom filter: the version " + std::to_string(version) + " of a slice is unknown");
  }
  if (slice.bits.empty() || slice.bits.size() != size) {
    return Corrupt(kValkeySource, "the bits of a slice are not as many as it states");
  }
  return slice;
}

}  // namespace

Status ValkeyBloomBuilder::Begin(const ValkeyBloomFields& fields) {
  if (fields.sub_filters == 0 || fields.sub_filters > kMaxSubFilters) {
    return Corrupt(kValkeySource,
                   "the number of sub-filters must be in the range [1, " + std::to_string(kMaxSubFilters) + "]");
  }
  if (fields.expansion > UINT32_MAX) return Corrupt(kValkeySource, "the expansion is out of range");
  fields_ = fields;
  params_.type = kValkeyBloomType;
  params_.expansion = static_cast<uint32_t>(fields.expansion);
  params_.error_rate = fields.error_rate;
  params_.tightening_ratio = fields.tightening_ratio;
  params_ = Settled(params_);
  return Validate(params_);
}

Status ValkeyBloomBuilder::Add(uint64_t capacity, std::optional<uint64_t> stated_items, std::string_view bytes) {
  const Result<Slice> slice = ReadSlice(bytes);
  if (!slice) return tl::unexpected(slice.error());
  const auto index = static_cast<uint32_t>(sub_filters_.size());
  if (index == fields_.sub_filters) return Corrupt(kValkeySource, "it has more sub-filters than it states");
  if (index == 0) {
    params_.capacity = capacity;
    SetValkeySeed(params_, slice->seed);
    if (!fields_.is_seed_random && !HasFixedValkeySeed(params_)) {
      return Corrupt(kValkeySource, "its seed is said to be the fixed one, and is another");
    }
  } else if (slice->seed != ValkeySeedOf(params_)) {
    return Corrupt(kValkeySource, "its sub-filters have different seeds");
  }
  SubFilterShape shape{
      &kValkeyBloomLayout,   capacity, ValkeyBloomChain::RateOf(params_, index), slice->bits.size() * 8,
      slice->hash_functions, 0};
  hash_functions_ += shape.hash_functions;
  const std::string which = "sub-filter " + std::to_string(index);
  if (!IsValid(shape) || hash_functions_ > ValkeyBloomChain::kMaxHashFunctions) {
    return Corrupt(kValkeySource, "the shape of " + which + " is impossible");
  }
  if (stated_items > capacity) return Corrupt(kValkeySource, which + " holds more items than it can");
  Result<std::unique_ptr<SubFilter>> made = MakeSubFilter(shape, budget_);
  if (!made) return tl::unexpected(std::move(made).error());
  (*made)->memory().CopyIn(0, AsBytes(slice->bits));
  const uint64_t set_bits = (*made)->CountSet((*made)->memory().bytes());
  (*made)->Restore(stated_items.value_or(std::min(capacity, set_bits)), set_bits);
  sub_filters_.push_back(std::move(*made));
  return {};
}

Result<std::unique_ptr<Filter>> ValkeyBloomBuilder::Finish() {
  if (sub_filters_.size() != fields_.sub_filters) return Corrupt(kValkeySource, "sub-filters are missing");
  return ScalableFilter::FromSubFilters(kValkeyBloomChain, params_, std::move(sub_filters_), budget_);
}

std::string ValkeySliceOf(const SubFilter& sub_filter, const FilterParams& params) {
  const uint64_t size = sub_filter.shape().bits / 8;
  std::string bytes;
  bytes.reserve(1 + 8 + 4 + kValkeySeedBytes + size);
  ByteWriter out(bytes);
  out.Put(kSliceVersion);
  out.Put(size);
  out.Put(sub_filter.shape().hash_functions);
  out.PutBytes(ValkeySeedOf(params));
  const size_t head = bytes.size();
  bytes.resize(head + size);
  sub_filter.memory().CopyOut(0, std::as_writable_bytes(std::span(bytes).subspan(head)));
  return bytes;
}

ValkeyBloomFields ValkeyFieldsOf(const Filter& filter) {
  const FilterParams params = filter.params();
  return {.sub_filters = filter.SubFilters(),
          .expansion = params.expansion,
          .error_rate = params.error_rate,
          .tightening_ratio = params.tightening_ratio,
          .is_seed_random = !HasFixedValkeySeed(params)};
}

std::vector<const SubFilter*> ValkeySubFiltersOf(const Filter& filter) {
  return static_cast<const ValkeyBloomChain&>(filter).AllSubFilters();
}

Result<std::unique_ptr<Filter>> DecodeValkeyLoad(std::string_view payload, MemoryBudget& budget) {
  ByteReader in(payload);
  if (const auto version = in.Get<uint8_t>(); in.ok() && version != kLoadVersion) {
    return Fail(ErrorCode::kUnsupported, "valkey-bloom filter: the version " + std::to_string(version) + " is unknown");
  }
  ValkeyBloomFields fields;
  fields.expansion = in.Get<uint32_t>();
  fields.error_rate = in.GetDouble();
  fields.tightening_ratio = in.GetDouble();
  const auto random = in.Get<uint8_t>();
  fields.sub_filters = in.Get<uint64_t>();
  if (!in.ok() || random > 1) return Corrupt(kValkeySource, "its first fields are not those of one");
  fields.is_seed_random = random == 1;
  ValkeyBloomBuilder builder(budget);
  if (Status status = builder.Begin(fields); !status) return tl::unexpected(std::move(status).error());
  for (uint64_t i = 0; i < fields.sub_filters; ++i) {
    const std::string_view slice = in.GetBytes(in.Get<uint64_t>());
    const auto items = in.Get<uint64_t>();
    const auto capacity = in.Get<uint64_t>();
    if (!in.ok()) return Corrupt(kValkeySource, "it is too short");
    if (Status status = builder.Add(capacity, items, slice); !status) return tl::unexpected(std::move(status).error());
  }
  return builder.Finish();
}

Result<ChainHeader> DecodeValkeyChainHeader(std::string_view fields) {
  Result<ChainHeader> header = DecodeChainHeader(fields, kValkeyBloomChain);
  if (!header) return header;
  uint64_t hash_functions = 0;
  for (const SubFilterRecord& record : header->sub_filters) hash_functions += record.shape.hash_functions;
  if (hash_functions > ValkeyBloomChain::kMaxHashFunctions)
    return CorruptHeader("the hash functions of its sub-filters are too many");
  return header;
}

}  // namespace bitsieve::core
