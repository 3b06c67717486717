#include "core/families/bloom/chain_codec.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/families/bloom/bloom_types.h"
#include "core/filter/image_header.h"
#include "core/filter/mapped_body.h"
#include "core/filter/parts_decoder.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kMaxBodyBytes = uint64_t{1} << 50;
constexpr uint64_t kMaxAdditions = uint64_t{1} << 60;  // of a sub-filter that counts repeated ones

void PutSubFilter(ByteWriter& out, const SubFilterRecord& sub_filter) {
  out.Put(sub_filter.shape.capacity);
  out.Put(sub_filter.shape.error_rate);
  out.Put(sub_filter.shape.bits);
  out.Put(sub_filter.shape.hash_functions);
  out.Put(sub_filter.shape.layout->counters ? sub_filter.shape.counter_bits : sub_filter.shape.lines_per_item);
  out.Put(sub_filter.items);
}

SubFilterRecord GetSubFilter(ByteReader& in, const SubFilterLayout& layout) {
  SubFilterRecord sub_filter{};
  sub_filter.shape.layout = &layout;
  sub_filter.shape.capacity = in.Get<uint64_t>();
  sub_filter.shape.error_rate = in.GetDouble();
  sub_filter.shape.bits = in.Get<uint64_t>();
  sub_filter.shape.hash_functions = in.Get<uint32_t>();
  const auto width = in.Get<uint32_t>();
  (layout.counters ? sub_filter.shape.counter_bits : sub_filter.shape.lines_per_item) = width;
  sub_filter.items = in.Get<uint64_t>();
  return sub_filter;
}

// Repeated additions are counted, and need no room.
uint64_t MostItems(const SubFilterShape& shape) { return shape.layout->counters ? kMaxAdditions : shape.capacity; }

Result<ChainHeader> GetHashes(ByteReader& in, const ChainType& type, const FilterParams& params) {
  ChainHeader header{.type = type, .params = params};
  const auto count = in.Get<uint32_t>();
  const size_t room = ScalableFilter::ListRoom(type, params);
  if (room == 0) return CorruptHeader("it has no sub-filters, but a filter with these parameters begins with one");
  if (!in.ok() || count > room) return CorruptHeader("the number of hashes is out of range");
  for (uint32_t i = 0; i < count; ++i) {
    const auto low = in.Get<uint64_t>();
    header.hashes.push_back({low, in.Get<uint64_t>()});
  }
  if (!in.ok() || !in.AtEnd()) return CorruptHeader("it does not end with the last hash");
  for (size_t i = 1; i < header.hashes.size(); ++i) {
    const auto end = header.hashes.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(header.hashes.begin(), end, *end) != end) return CorruptHeader("a hash appears twice");
  }
  return header;
}

Result<ChainHeader> GetSubFilters(ByteReader& in, const ChainType& type, const FilterParams& params) {
  ChainHeader header{.type = type, .params = params};
  const auto count = in.Get<uint32_t>();
  if (in.ok() && count == 0) return GetHashes(in, type, params);
  if (!in.ok() || count > kMaxSubFilters) return CorruptHeader("the number of sub-filters is out of range");
  uint64_t body_bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const SubFilterRecord sub_filter = GetSubFilter(in, type.layout);
    if (!in.ok()) return CorruptHeader("it ends within sub-filter " + std::to_string(i));
    if (!IsValid(sub_filter.shape))
      return CorruptHeader("the shape of sub-filter " + std::to_string(i) + " is impossible");
    if (sub_filter.items > MostItems(sub_filter.shape))
      return CorruptHeader("sub-filter " + std::to_string(i) + " holds more items than it can");
    body_bytes += sub_filter.shape.SizeBytes();
    if (sub_filter.shape.SizeBytes() > kMaxBodyBytes || body_bytes > kMaxBodyBytes)
      return CorruptHeader("it is too large");
    if (type.layout.counters && sub_filter.shape.counter_bits != CounterBitsOf(params))
      return CorruptHeader("its sub-filters differ from it in counter bits");
    header.sub_filters.push_back(sub_filter);
  }
  if (!in.AtEnd()) return CorruptHeader("bytes follow the last sub-filter");
  return header;
}

// Fills the sub-filters of a chain, oldest first.
class ChainDecoder final : public PartsDecoder {
 public:
  ChainDecoder(ChainHeader header, std::vector<std::unique_ptr<SubFilter>> sub_filters, MemoryBudget& budget)
      : header_(std::move(header)), sub_filters_(std::move(sub_filters)), budget_(budget) {
    for (const std::unique_ptr<SubFilter>& sub_filter : sub_filters_)
      AddPart(sub_filter->memory().bytes().first(sub_filter->shape().BodyBytes()));
  }

 private:
  uint64_t Count(size_t part, std::span<const std::byte> bytes) const override {
    return sub_filters_[part]->CountSet(bytes);
  }

  Status FinishPart(size_t part, uint64_t set_bits) override {
    SubFilter& sub_filter = *sub_filters_[part];
    if (!IsClearFrom(sub_filter.memory().bytes(), sub_filter.shape().MemoryBits())) {
      return CorruptBody("bits after the last one of a sub-filter are set");
    }
    // There may be fewer set bits than items: a union counts its items before it has all bits (filter_union.h).
    sub_filter.Restore(header_.sub_filters[part].items, set_bits);
    return {};
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    if (sub_filters_.empty()) {
      return ScalableFilter::FromHashes(header_.type, header_.params, header_.hashes, budget_);
    }
    return ScalableFilter::FromSubFilters(header_.type, header_.params, std::move(sub_filters_), budget_);
  }

  const ChainHeader header_;
  std::vector<std::unique_ptr<SubFilter>> sub_filters_;
  MemoryBudget& budget_;
};

// All of it, before the first part is allocated.
bool HasRoom(const ChainHeader& header, MemoryBudget& budget) {
  uint64_t bytes = ScalableFilter::OwnBytes();
  for (const SubFilterRecord& record : header.sub_filters)
    bytes += record.shape.SizeBytes() + ScalableFilter::OverheadBytes();
  return MemoryReservation::TryTake(budget, bytes).held();
}

}  // namespace

ImageSummary ChainHeader::Summary() const {
  if (!sub_filters.empty()) return SummaryOfParts(sub_filters);
  return {.capacity = params.capacity, .items = hashes.size()};
}

std::string EncodeListHeader(const FilterParams& params, std::span<const KeyHash> hashes) {
  std::string bytes;
  BeginHeader(bytes, params.type);
  ByteWriter out(bytes);
  PutParams(out, params);
  out.Put(uint32_t{0});
  out.Put(static_cast<uint32_t>(hashes.size()));
  for (const KeyHash& hash : hashes) {
    out.Put(hash.low);
    out.Put(hash.high);
  }
  SealHeader(bytes);
  return bytes;
}

std::string EncodeChainHeader(const FilterParams& params, const std::vector<SubFilterRecord>& sub_filters) {
  std::string bytes;
  BeginHeader(bytes, params.type);
  ByteWriter out(bytes);
  PutParams(out, params);
  out.Put(static_cast<uint32_t>(sub_filters.size()));
  for (const SubFilterRecord& sub_filter : sub_filters) PutSubFilter(out, sub_filter);
  SealHeader(bytes);
  return bytes;
}

Result<ChainHeader> DecodeChainHeader(std::string_view fields, const ChainType& type) {
  ByteReader in(fields);
  const FilterParams params = GetParams(in, type.type);
  if (!in.ok()) return CorruptHeader("it is too short");
  if (Status status = Validate(params); !status) return CorruptHeader(status.error().message);
  return GetSubFilters(in, type, params);
}

Result<std::unique_ptr<FilterDecoder>> OpenChain(ChainHeader header, MemoryBudget& budget) {
  if (!HasRoom(header, budget))
    return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for all sub-filters of a filter");
  std::vector<std::unique_ptr<SubFilter>> sub_filters;
  for (const SubFilterRecord& record : header.sub_filters) {
    Result<std::unique_ptr<SubFilter>> sub_filter = MakeSubFilter(record.shape, budget);
    if (!sub_filter) return tl::unexpected(std::move(sub_filter).error());
    sub_filters.push_back(std::move(*sub_filter));
  }
  return std::make_unique<ChainDecoder>(std::move(header), std::move(sub_filters), budget);
}

Result<std::unique_ptr<Filter>> MapChain(const ChainHeader& header, std::span<const std::byte> body,
                                         MemoryBudget& budget) {
  MappedBody rest(body);
  std::vector<std::unique_ptr<SubFilter>> sub_filters;
  for (const SubFilterRecord& record : header.sub_filters) {
    Result<BitMemory> memory = rest.Take(record.shape.BodyBytes());
    if (!memory) return tl::unexpected(std::move(memory).error());
    sub_filters.push_back(record.shape.layout->make(record.shape, std::move(*memory)));
    sub_filters.back()->Restore(record.items, 0);
  }
  if (Status status = rest.CheckAtEnd(); !status) return tl::unexpected(std::move(status).error());
  if (sub_filters.empty()) return ScalableFilter::FromHashes(header.type, header.params, header.hashes, budget);
  return ScalableFilter::FromSubFilters(header.type, header.params, std::move(sub_filters), budget);
}

}  // namespace bitsieve::core
