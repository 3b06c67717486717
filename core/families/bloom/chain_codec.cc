#include "core/families/bloom/chain_codec.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/families/bloom/bloom_types.h"
#include "core/filter/image_header.h"
#include "core/filter/parts_decoder.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kMaxBodyBytes = uint64_t{1} << 50;
constexpr uint64_t kMaxAdditions = uint64_t{1} << 60;  // of a link that counts repeated ones

void PutLink(ByteWriter& out, const LinkRecord& link) {
  out.Put(link.shape.capacity);
  out.Put(link.shape.error_rate);
  out.Put(link.shape.bits);
  out.Put(link.shape.hash_functions);
  out.Put(link.shape.layout->counters ? link.shape.counter_bits : link.shape.lines_per_item);
  out.Put(link.items);
}

LinkRecord GetLink(ByteReader& in, const LinkLayout& layout) {
  LinkRecord link{};
  link.shape.layout = &layout;
  link.shape.capacity = in.Get<uint64_t>();
  link.shape.error_rate = in.GetDouble();
  link.shape.bits = in.Get<uint64_t>();
  link.shape.hash_functions = in.Get<uint32_t>();
  const auto width = in.Get<uint32_t>();
  (layout.counters ? link.shape.counter_bits : link.shape.lines_per_item) = width;
  link.items = in.Get<uint64_t>();
  return link;
}

// Repeated additions are counted, and need no room.
uint64_t MostItems(const LinkShape& shape) { return shape.layout->counters ? kMaxAdditions : shape.capacity; }

uint32_t CounterBitsOf(const LinkShape& shape) {
  return shape.layout->counters ? shape.counter_bits : kDefaultCounterBits;
}

Result<ChainHeader> GetLinks(ByteReader& in, const ChainType& type, const FilterParams& params) {
  ChainHeader header{type, params, {}};
  const auto count = in.Get<uint32_t>();
  if (!in.ok() || count == 0 || count > kMaxLinks) return CorruptHeader("the number of links is out of range");
  uint64_t body_bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const LinkRecord link = GetLink(in, type.layout);
    if (!in.ok()) return CorruptHeader("it ends within link " + std::to_string(i));
    if (!IsValid(link.shape)) return CorruptHeader("the shape of link " + std::to_string(i) + " is impossible");
    if (link.items > MostItems(link.shape))
      return CorruptHeader("link " + std::to_string(i) + " holds more than it can");
    body_bytes += link.shape.SizeBytes();
    if (link.shape.SizeBytes() > kMaxBodyBytes || body_bytes > kMaxBodyBytes) return CorruptHeader("it is too large");
    if (i == 0) SetCounterBits(header.params, CounterBitsOf(link.shape));
    if (CounterBitsOf(link.shape) != CounterBitsOf(header.params))
      return CorruptHeader("its links differ in counter bits");
    header.links.push_back(link);
  }
  if (!in.AtEnd()) return CorruptHeader("bytes follow the last link");
  return header;
}

// Fills the links of a chain, oldest first.
class ChainDecoder final : public PartsDecoder {
 public:
  ChainDecoder(ChainHeader header, std::vector<std::unique_ptr<Link>> links, MemoryBudget& budget)
      : header_(std::move(header)), links_(std::move(links)), budget_(budget) {
    for (const std::unique_ptr<Link>& link : links_) AddPart(link->memory().bytes().first(link->shape().BodyBytes()));
  }

 private:
  uint64_t Count(size_t part, std::span<const std::byte> bytes) const override { return links_[part]->CountSet(bytes); }

  Status FinishPart(size_t part, uint64_t set_bits) override {
    Link& link = *links_[part];
    if (!IsClearFrom(link.memory().bytes(), link.shape().MemoryBits())) {
      return CorruptBody("bits behind the last one of a link are set");
    }
    // Every item set at least one bit that was clear; but repeated ones of counters, which it counts, too.
    if (!link.shape().layout->counters && header_.links[part].items > set_bits) {
      return CorruptBody("a link has fewer bits set than items");
    }
    link.Restore(header_.links[part].items, set_bits);
    return {};
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    return ScalableFilter::FromLinks(header_.type, header_.params, std::move(links_), budget_);
  }

  const ChainHeader header_;
  std::vector<std::unique_ptr<Link>> links_;
  MemoryBudget& budget_;
};

// All of it, before the first part is allocated.
bool HasRoom(const ChainHeader& header, MemoryBudget& budget) {
  uint64_t bytes = 0;
  for (const LinkRecord& record : header.links) bytes += record.shape.SizeBytes() + ScalableFilter::OverheadBytes();
  return MemoryReservation::TryTake(budget, bytes).held();
}

}  // namespace

ImageSummary ChainHeader::Summary() const { return SummaryOfParts(links); }

std::string EncodeChainHeader(const FilterParams& params, const std::vector<LinkRecord>& links) {
  std::string bytes;
  BeginHeader(bytes, params.type);
  PutParams(bytes, params);
  ByteWriter out(bytes);
  out.Put(static_cast<uint32_t>(links.size()));
  for (const LinkRecord& link : links) PutLink(out, link);
  SealHeader(bytes);
  return bytes;
}

Result<ChainHeader> DecodeChainHeader(std::string_view fields, const ChainType& type) {
  ByteReader in(fields);
  const FilterParams params = GetParams(in, type.type);
  if (!in.ok()) return CorruptHeader("it is too short");
  if (Status status = Validate(params); !status) return CorruptHeader(status.error().message);
  return GetLinks(in, type, params);
}

Result<std::unique_ptr<FilterDecoder>> OpenChain(ChainHeader header, MemoryBudget& budget) {
  if (!HasRoom(header, budget))
    return Fail(ErrorCode::kOutOfMemory, "cannot take the memory for all links of a filter");
  std::vector<std::unique_ptr<Link>> links;
  for (const LinkRecord& record : header.links) {
    Result<std::unique_ptr<Link>> link = MakeLink(record.shape, budget);
    if (!link) return tl::unexpected(std::move(link).error());
    links.push_back(std::move(*link));
  }
  return std::make_unique<ChainDecoder>(std::move(header), std::move(links), budget);
}

}  // namespace bitsieve::core
