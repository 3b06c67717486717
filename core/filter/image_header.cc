#include "core/filter/image_header.h"

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/filter/false_positive_list.h"

namespace bitsieve::core {

namespace {

constexpr uint32_t kImageMagic = 0x49465342;  // "BSFI" as bytes
constexpr uint8_t kHasFalsePositives = 1;     // among the marks
constexpr uint64_t kMaxAdded = uint64_t{1} << 60;

}  // namespace

tl::unexpected<Error> Corrupt(std::string_view bytes, std::string_view what) {
  return Fail(ErrorCode::kCorrupt, std::string(bytes).append(": ").append(what));
}

tl::unexpected<Error> CorruptHeader(std::string_view what) { return Corrupt("filter header", what); }

tl::unexpected<Error> CorruptBody(std::string_view what) { return Corrupt("filter body", what); }

void BeginHeader(std::string& bytes, FilterType type) {
  ByteWriter out(bytes);
  out.Put(kImageMagic);
  out.Put(kImageVersion);
  out.Put(uint8_t{0});  // marks
  out.Put(static_cast<uint16_t>(type));
}

void SealHeader(std::string& bytes) { ByteWriter(bytes).Put(Checksum(bytes)); }

std::string HeaderWith(const FalsePositivesRecord& false_positives, std::string_view header) {
  std::string bytes(header.substr(0, header.size() - kChecksumBytes));
  bytes[sizeof kImageMagic + sizeof kImageVersion] = kHasFalsePositives;
  ByteWriter out(bytes);
  out.Put(false_positives.added);
  out.Put(uint64_t{false_positives.hashes});  // whole words: the body is as aligned as without
  SealHeader(bytes);
  return bytes;
}

namespace {

// Takes them off the end of the fields.
Result<FalsePositivesRecord> TakeFalsePositives(const FilterTypeRow& type, std::string_view& fields) {
  FalsePositivesRecord record;
  constexpr size_t kBytes = 2 * sizeof(uint64_t);
  if (fields.size() < kBytes) return CorruptHeader("it is too short");
  ByteReader in(fields.substr(fields.size() - kBytes));
  fields.remove_suffix(kBytes);
  record.added = in.Get<uint64_t>();
  const auto hashes = in.Get<uint64_t>();
  if (!type.can.deny) return CorruptHeader("its type does not support known false positives");
  if (hashes > FalsePositiveList::kMaxHashes) {
    return CorruptHeader("the number of false positives is out of range");
  }
  record.hashes = static_cast<uint32_t>(hashes);
  if (record.added > kMaxAdded) return CorruptHeader("the number of added false positives is out of range");
  return record;
}

}  // namespace

Result<HeaderFrame> OpenHeader(std::string_view bytes) {
  if (bytes.size() < kChecksumBytes) return CorruptHeader("it is too short");
  const std::string_view content = bytes.substr(0, bytes.size() - kChecksumBytes);
  ByteReader checksum(bytes.substr(content.size()));
  ByteReader in(content);
  if (in.Get<uint32_t>() != kImageMagic || !in.ok()) return CorruptHeader("it does not start with the magic number");
  const auto version = in.Get<uint8_t>();
  if (in.ok() && version != kImageVersion) {
    return Fail(ErrorCode::kUnsupported, "filter header: version " + std::to_string(version) +
                                             " is not supported; this server reads versions up to " +
                                             std::to_string(kImageVersion));
  }
  const auto marks = in.Get<uint8_t>();
  if (checksum.Get<uint64_t>() != Checksum(content)) return CorruptHeader("its checksum does not match");
  if ((marks & ~kHasFalsePositives) != 0) return CorruptHeader("one of its marks is unknown");
  const auto type = in.Get<uint16_t>();
  if (!in.ok()) return CorruptHeader("it is too short");
  const FilterTypeRow* const row = FindFilterType(FilterType{type});
  if (row == nullptr) {
    return Fail(ErrorCode::kUnsupported, "filter header: type " + std::to_string(type) + " is unknown");
  }
  HeaderFrame frame{*row, in.GetBytes(in.remaining())};
  if ((marks & kHasFalsePositives) == 0) return frame;
  const Result<FalsePositivesRecord> false_positives = TakeFalsePositives(*row, frame.fields);
  if (!false_positives) return tl::unexpected(false_positives.error());
  frame.false_positives = *false_positives;
  return frame;
}

Result<ImageSummary> SummarizeImage(std::string_view header) {
  const Result<HeaderFrame> frame = OpenHeader(header);
  if (!frame) return tl::unexpected(frame.error());
  Result<ImageSummary> summary = frame->type.summarize(frame->fields);
  if (!summary) return summary;
  summary->type = frame->type.type;
  if (!frame->false_positives) return summary;
  summary->items += frame->false_positives->added;
  summary->false_positives = frame->false_positives->hashes;
  return summary;
}

}  // namespace bitsieve::core
