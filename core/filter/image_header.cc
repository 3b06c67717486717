#include "core/filter/image_header.h"

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace bitsieve::core {

namespace {

constexpr uint32_t kMagic = 0x49465342;  // "BSFI" as bytes
constexpr size_t kChecksumBytes = sizeof(uint64_t);

}  // namespace

tl::unexpected<Error> Corrupt(std::string_view bytes, std::string_view what) {
  return Fail(ErrorCode::kCorrupt, std::string(bytes).append(": ").append(what));
}

tl::unexpected<Error> CorruptHeader(std::string_view what) { return Corrupt("filter header", what); }

tl::unexpected<Error> CorruptBody(std::string_view what) { return Corrupt("filter body", what); }

void BeginHeader(std::string& bytes, FilterType type, uint16_t version) {
  ByteWriter out(bytes);
  out.Put(kMagic);
  out.Put(version);
  out.Put(static_cast<uint16_t>(type));
}

void SealHeader(std::string& bytes) { ByteWriter(bytes).Put(Checksum(bytes)); }

Result<HeaderFrame> OpenHeader(std::string_view bytes) {
  if (bytes.size() < kChecksumBytes) return CorruptHeader("it is too short");
  const std::string_view content = bytes.substr(0, bytes.size() - kChecksumBytes);
  ByteReader checksum(bytes.substr(content.size()));
  ByteReader in(content);
  if (in.Get<uint32_t>() != kMagic || !in.ok()) return CorruptHeader("it does not start with the magic number");
  if (const auto version = in.Get<uint16_t>(); in.ok() && (version == 0 || version > kListFormatVersion)) {
    return Fail(ErrorCode::kUnsupported, "filter header: version " + std::to_string(version) +
                                             " is not known; this server reads versions up to " +
                                             std::to_string(kListFormatVersion));
  }
  if (checksum.Get<uint64_t>() != Checksum(content)) return CorruptHeader("its checksum does not match");
  const auto type = in.Get<uint16_t>();
  if (!in.ok()) return CorruptHeader("it is too short");
  const FilterTypeRow* const row = FindFilterType(FilterType{type});
  if (row == nullptr) {
    return Fail(ErrorCode::kUnsupported, "filter header: type " + std::to_string(type) + " is not known");
  }
  return HeaderFrame{*row, in.GetBytes(in.remaining())};
}

Result<ImageSummary> SummarizeImage(std::string_view header) {
  const Result<HeaderFrame> frame = OpenHeader(header);
  if (!frame) return tl::unexpected(frame.error());
  Result<ImageSummary> summary = frame->type.summarize(frame->fields);
  if (summary) summary->type = frame->type.type;
  return summary;
}

}  // namespace bitsieve::core
