#include "core/filters/ribbon_header.h"

#include "core/base/bytes.h"
#include "core/bits/bit_memory.h"
#include "core/bits/ribbon_kernel.h"
#include "core/filters/filter_header.h"

namespace bitsieve::core {

namespace {

// Persisted.
constexpr uint32_t kStaging = 0;
constexpr uint32_t kFrozen = 1;

constexpr uint64_t kMaxWords = uint64_t{1} << 40;

tl::unexpected<Error> Corrupt(const std::string& what) { return Fail(ErrorCode::kCorrupt, "filter header: " + what); }

FilterParams GetParams(ByteReader& in) {
  FilterParams params;
  params.kind = FilterKind::kRibbon;
  params.error_rate = in.GetDouble();
  params.capacity = in.Get<uint64_t>();
  params.expansion = in.Get<uint32_t>();
  params.tightening_ratio = in.GetDouble();
  params.first_link_share = in.GetDouble();
  params.seed = in.Get<uint64_t>();
  return params;
}

Status GetShape(ByteReader& in, RibbonHeader& header) {
  RibbonShape& shape = header.shape;
  shape.columns = in.Get<uint32_t>();
  shape.shards = in.Get<uint64_t>();
  shape.words = in.Get<uint64_t>();
  if (!in.ok()) return Corrupt("it ends within the shape");
  if (shape.columns == 0 || shape.columns >= kMaxRibbonColumns) return Corrupt("the number of columns is out of range");
  if (shape.words == 0 || shape.words > kMaxWords || shape.SizeBytes() % kLineBytes != 0) {
    return Corrupt("the number of words is out of range");
  }
  // A shard has a record and two blocks at least.
  const uint64_t least = 2 + 2 * shape.columns;
  if (shape.shards == 0 || shape.shards > shape.words / least) return Corrupt("the number of shards is out of range");
  // Every item has a slot of its own.
  if (header.items / kRibbonBlockSlots > shape.words / shape.columns) return Corrupt("it holds more than it can");
  return {};
}

}  // namespace

std::string EncodeRibbonHeader(const RibbonHeader& header) {
  const FilterParams& params = header.params;
  std::string bytes;
  BeginHeader(bytes, params.kind);
  ByteWriter out(bytes);
  out.Put(params.error_rate);
  out.Put(params.capacity);
  out.Put(params.expansion);
  out.Put(params.tightening_ratio);
  out.Put(params.first_link_share);
  out.Put(params.seed);
  out.Put(header.frozen ? kFrozen : kStaging);
  out.Put(header.items);
  if (header.frozen) {
    out.Put(header.shape.columns);
    out.Put(header.shape.shards);
    out.Put(header.shape.words);
  }
  SealHeader(bytes);
  return bytes;
}

Result<RibbonHeader> DecodeRibbonHeader(std::string_view fields) {
  ByteReader in(fields);
  RibbonHeader header;
  header.params = GetParams(in);
  const auto state = in.Get<uint32_t>();
  header.items = in.Get<uint64_t>();
  if (!in.ok()) return Corrupt("it is too short");
  if (Status status = Validate(header.params); !status) return Corrupt(status.error().message);
  if (state != kStaging && state != kFrozen) return Corrupt("the state is neither staging nor frozen");
  if (header.items > kMaxRibbonItems) return Corrupt("the number of items is out of range");
  header.frozen = state == kFrozen;
  if (header.frozen) {
    if (Status status = GetShape(in, header); !status) return tl::unexpected(std::move(status).error());
  }
  if (!in.AtEnd()) return Corrupt("bytes follow the last field");
  return header;
}

}  // namespace bitsieve::core
