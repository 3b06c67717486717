#include "core/filters/filter_header.h"

#include "core/base/checksum.h"

namespace bitsieve::core {

namespace {

constexpr uint32_t kMagic = 0x49465342;  // "BSFI" as bytes
constexpr size_t kChecksumBytes = sizeof(uint64_t);
constexpr uint64_t kMaxBodyBytes = uint64_t{1} << 50;
constexpr uint64_t kMaxAdditions = uint64_t{1} << 60;  // of a link that counts repeated ones

tl::unexpected<Error> Corrupt(const std::string& what) { return Fail(ErrorCode::kCorrupt, "filter header: " + what); }

void PutLink(ByteWriter& out, const LinkRecord& link) {
  out.Put(link.shape.capacity);
  out.Put(link.shape.error_rate);
  out.Put(link.shape.bits);
  out.Put(link.shape.hash_functions);
  out.Put(link.shape.kind == FilterKind::kCounting ? link.shape.counter_bits : link.shape.lines_per_item);
  out.Put(link.items);
}

LinkRecord GetLink(ByteReader& in, FilterKind kind) {
  LinkRecord link{};
  link.shape.kind = kind;
  link.shape.capacity = in.Get<uint64_t>();
  link.shape.error_rate = in.GetDouble();
  link.shape.bits = in.Get<uint64_t>();
  link.shape.hash_functions = in.Get<uint32_t>();
  const auto layout = in.Get<uint32_t>();
  (kind == FilterKind::kCounting ? link.shape.counter_bits : link.shape.lines_per_item) = layout;
  link.items = in.Get<uint64_t>();
  return link;
}

// Repeated additions are counted, and need no room.
uint64_t MostItems(const LinkShape& shape) {
  return shape.kind == FilterKind::kCounting ? kMaxAdditions : shape.capacity;
}

uint32_t CounterBitsOf(const LinkShape& shape) {
  return shape.kind == FilterKind::kCounting ? shape.counter_bits : kDefaultCounterBits;
}

Result<FilterHeader> GetLinks(ByteReader& in, const FilterParams& params) {
  FilterHeader header{params, {}};
  const auto count = in.Get<uint32_t>();
  if (!in.ok() || count == 0 || count > kMaxLinks) return Corrupt("the number of links is out of range");
  uint64_t body_bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const LinkRecord link = GetLink(in, params.kind);
    if (!in.ok()) return Corrupt("it ends within link " + std::to_string(i));
    if (!IsValid(link.shape)) return Corrupt("the shape of link " + std::to_string(i) + " is impossible");
    if (link.items > MostItems(link.shape)) return Corrupt("link " + std::to_string(i) + " holds more than it can");
    body_bytes += link.shape.SizeBytes();
    if (link.shape.SizeBytes() > kMaxBodyBytes || body_bytes > kMaxBodyBytes) return Corrupt("it is too large");
    if (i == 0) header.params.counter_bits = CounterBitsOf(link.shape);
    if (CounterBitsOf(link.shape) != header.params.counter_bits) return Corrupt("its links differ in counter bits");
    header.links.push_back(link);
  }
  if (!in.AtEnd()) return Corrupt("bytes follow the last link");
  return header;
}

}  // namespace

void BeginHeader(std::string& bytes, FilterKind kind) {
  ByteWriter out(bytes);
  out.Put(kMagic);
  out.Put(kFilterFormatVersion);
  out.Put(static_cast<uint16_t>(kind));
}

void SealHeader(std::string& bytes) { ByteWriter(bytes).Put(Checksum(bytes)); }

Result<HeaderFrame> OpenHeader(std::string_view bytes) {
  if (bytes.size() < kChecksumBytes) return Corrupt("it is too short");
  const std::string_view content = bytes.substr(0, bytes.size() - kChecksumBytes);
  ByteReader checksum(bytes.substr(content.size()));
  ByteReader in(content);
  if (in.Get<uint32_t>() != kMagic || !in.ok()) return Corrupt("it does not start with the magic number");
  if (const auto version = in.Get<uint16_t>(); in.ok() && version != kFilterFormatVersion) {
    return Fail(ErrorCode::kUnsupported, "filter header: version " + std::to_string(version) +
                                             " is not known; this server reads version " +
                                             std::to_string(kFilterFormatVersion));
  }
  if (checksum.Get<uint64_t>() != Checksum(content)) return Corrupt("its checksum does not match");
  const auto kind = static_cast<FilterKind>(in.Get<uint16_t>());
  if (!in.ok()) return Corrupt("it is too short");
  if (FilterKindName(kind) == "unknown") {
    return Fail(ErrorCode::kUnsupported,
                "filter header: kind " + std::to_string(static_cast<unsigned>(kind)) + " is not known");
  }
  return HeaderFrame{kind, in.GetBytes(in.remaining())};
}

void PutParams(std::string& bytes, const FilterParams& params) {
  ByteWriter out(bytes);
  out.Put(params.error_rate);
  out.Put(params.capacity);
  out.Put(params.expansion);
  out.Put(params.tightening_ratio);
  out.Put(params.first_link_share);
  out.Put(params.seed);
  out.Put(static_cast<uint32_t>(params.hash));
}

FilterParams GetParams(ByteReader& in, FilterKind kind) {
  FilterParams params;
  params.kind = kind;
  params.error_rate = in.GetDouble();
  params.capacity = in.Get<uint64_t>();
  params.expansion = in.Get<uint32_t>();
  params.tightening_ratio = in.GetDouble();
  params.first_link_share = in.GetDouble();
  params.seed = in.Get<uint64_t>();
  const auto hash = in.Get<uint32_t>();
  params.hash = static_cast<HashKind>(hash <= UINT8_MAX ? hash : 0);  // 0: none
  return params;
}

std::string EncodeFilterHeader(const FilterParams& params, const std::vector<LinkRecord>& links) {
  std::string bytes;
  BeginHeader(bytes, params.kind);
  PutParams(bytes, params);
  ByteWriter out(bytes);
  out.Put(static_cast<uint32_t>(links.size()));
  for (const LinkRecord& link : links) PutLink(out, link);
  SealHeader(bytes);
  return bytes;
}

Result<FilterHeader> DecodeFilterHeader(std::string_view bytes) {
  const Result<HeaderFrame> frame = OpenHeader(bytes);
  if (!frame) return tl::unexpected(frame.error());
  ByteReader in(frame->fields);
  const FilterParams params = GetParams(in, frame->kind);
  if (!in.ok()) return Corrupt("it is too short");
  if (Status status = Validate(params); !status) return Corrupt(status.error().message);
  return GetLinks(in, params);
}

}  // namespace bitsieve::core
