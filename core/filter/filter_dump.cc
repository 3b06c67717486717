#include "core/filter/filter_dump.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/filter/false_positive_codec.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

namespace {

constexpr uint32_t kDumpMagic = 0x44465342;  // "BSFD" as bytes
constexpr size_t kFixedBytes = 20;
constexpr uint32_t kMaxHeaderBytes = 1 << 20;
constexpr std::string_view kDumpSource = "dump";  // of errors

std::string HeadOf(const FilterImage& image) {
  std::string head;
  ByteWriter out(head);
  out.Put(kDumpMagic);
  out.Put(kDumpFormatVersion);
  out.Put(uint16_t{0});
  out.Put(static_cast<uint32_t>(image.header().size()));
  out.Put(image.body_bytes());
  out.PutBytes(image.header());
  return head;
}

struct DumpHead {
  std::string_view image_header;
  uint64_t body_bytes;

  size_t bytes() const { return kFixedBytes + image_header.size(); }
};

Result<DumpHead> ReadHead(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.Get<uint32_t>() != kDumpMagic || !in.ok())
    return Corrupt(kDumpSource, "it does not start with the magic number");
  if (const auto version = in.Get<uint16_t>(); in.ok() && version != kDumpFormatVersion) {
    return Fail(ErrorCode::kUnsupported, "dump: version " + std::to_string(version) +
                                             " is not supported; this server reads version " +
                                             std::to_string(kDumpFormatVersion));
  }
  const auto reserved = in.Get<uint16_t>();
  const auto header_bytes = in.Get<uint32_t>();
  const auto body_bytes = in.Get<uint64_t>();
  if (!in.ok() || header_bytes > in.remaining()) return Corrupt(kDumpSource, "it ends within its head");
  if (reserved != 0 || header_bytes > kMaxHeaderBytes) return Corrupt(kDumpSource, "its head is damaged");
  return DumpHead{in.GetBytes(header_bytes), body_bytes};
}

// Decodes what follows the head: the image's body, by its own decoder, and the checksum.
class DumpDecoder final : public FilterDecoder {
 public:
  DumpDecoder(std::string_view head, std::unique_ptr<FilterDecoder> image) : image_(std::move(image)) {
    checksum_.Add(head);
  }

  uint64_t body_bytes() const override { return image_->body_bytes() + kChecksumBytes; }

  Status Append(std::span<const std::byte> bytes) override {
    if (bytes.size() > body_bytes() - received_) return Corrupt(kDumpSource, "it is longer than its head says");
    const std::span body = bytes.first(std::min<uint64_t>(bytes.size(), image_->body_bytes() - BodyReceived()));
    received_ += bytes.size();
    stored_checksum_ += AsText(bytes.subspan(body.size()));
    checksum_.Add(AsText(body));
    return image_->Append(body);
  }

  Result<std::unique_ptr<Filter>> Finish() override {
    if (received_ != body_bytes()) return Corrupt(kDumpSource, "it is shorter than its head says");
    if (ByteReader(stored_checksum_).Get<uint64_t>() != checksum_.Value()) {
      return Corrupt(kDumpSource, "its checksum does not match");
    }
    return image_->Finish();
  }

 private:
  uint64_t BodyReceived() const { return std::min(received_, image_->body_bytes()); }

  const std::unique_ptr<FilterDecoder> image_;
  RunningChecksum checksum_;
  std::string stored_checksum_;
  uint64_t received_ = 0;
};

Result<std::unique_ptr<const Filter>> MapBody(const HeaderFrame& frame, std::span<const std::byte> body,
                                              MemoryBudget& budget) {
  const uint64_t listed_bytes = frame.false_positives ? frame.false_positives->body_bytes() : 0;
  if (body.size() < listed_bytes) return CorruptBody("it is shorter than the header says");
  Result<std::unique_ptr<Filter>> filter = frame.type.map(frame.fields, body.first(body.size() - listed_bytes), budget);
  if (!filter || !frame.false_positives) return filter;
  const Status restored =
      FalsePositiveDecoder::Restore(*frame.false_positives, body.last(listed_bytes), **filter, budget);
  if (!restored) return tl::unexpected(restored.error());
  return filter;
}

}  // namespace

bool IsFilterDump(std::string_view bytes) {
  ByteReader in(bytes);
  return in.Get<uint32_t>() == kDumpMagic && in.ok();
}

DumpStream::DumpStream(std::unique_ptr<FilterImage> image) : image_(std::move(image)), head_(HeadOf(*image_)) {}

uint64_t DumpStream::total_bytes() const { return BodyEnd() + kChecksumBytes; }

Status DumpStream::Read(size_t most, std::string& out) {
  while (most > 0 && !AtEnd()) {
    const size_t start = out.size();
    if (position_ < head_.size()) {
      out += head_.substr(position_, most);
    } else if (position_ < BodyEnd()) {
      out.resize(start + std::min<uint64_t>(most, BodyEnd() - position_));
      const std::span bytes = std::as_writable_bytes(std::span(out)).subspan(start);
      if (Status status = image_->Read(position_ - head_.size(), bytes); !status) return status;
    } else {
      if (tail_.empty()) ByteWriter(tail_).Put(checksum_.Value());
      out += std::string_view(tail_).substr(position_ - BodyEnd(), most);
    }
    const std::string_view read = std::string_view(out).substr(start);
    if (position_ < BodyEnd()) checksum_.Add(read);
    position_ += read.size();
    most -= read.size();
  }
  return {};
}

Result<OpenedDump> OpenFilterDump(std::string_view bytes, MemoryBudget& budget, const Clock& clock) {
  const Result<DumpHead> head = ReadHead(bytes);
  if (!head) return tl::unexpected(head.error());
  Result<std::unique_ptr<FilterDecoder>> image = FilterDecoder::Open(head->image_header, budget, clock);
  if (!image) return tl::unexpected(std::move(image).error());
  if ((*image)->body_bytes() != head->body_bytes) return Corrupt(kDumpSource, "its length does not match its filter");
  const std::string_view read = bytes.substr(0, head->bytes());
  return OpenedDump{std::make_unique<DumpDecoder>(read, std::move(*image)), head->bytes()};
}

Result<std::unique_ptr<const Filter>> MapFilterDump(std::span<const std::byte> dump, MemoryBudget& budget) {
  const Result<DumpHead> head = ReadHead(AsText(dump));
  if (!head) return tl::unexpected(head.error());
  const std::span<const std::byte> rest = dump.subspan(head->bytes());
  if (rest.size() < kChecksumBytes || rest.size() - kChecksumBytes != head->body_bytes) {
    return Corrupt(kDumpSource, "its length of " + std::to_string(dump.size()) + " bytes differs from its head");
  }
  const Result<HeaderFrame> frame = OpenHeader(head->image_header);
  if (!frame) return tl::unexpected(frame.error());
  if (frame->type.map == nullptr) {
    constexpr auto kMapped = [](const FilterTypeRow& row) { return row.map != nullptr; };
    return Fail(ErrorCode::kUnsupported, AFilterOf(frame->type) +
                                             " cannot be mapped, only loaded; types that can be mapped are " +
                                             FilterTypeNames(", ", kMapped));
  }
  return MapBody(*frame, rest.first(head->body_bytes), budget);
}

Result<std::string> DumpFilter(const Filter& filter) {
  DumpStream stream(filter.Capture());
  std::string dump;
  dump.reserve(stream.total_bytes());
  if (Status status = stream.Read(stream.total_bytes(), dump); !status)
    return tl::unexpected(std::move(status).error());
  return dump;
}

Result<std::unique_ptr<Filter>> RestoreFilter(std::string_view dump, MemoryBudget& budget, const Clock& clock) {
  const Result<OpenedDump> opened = OpenFilterDump(dump, budget, clock);
  if (!opened) return tl::unexpected(opened.error());
  const std::string_view rest = dump.substr(opened->head_bytes);
  if (Status status = opened->decoder->Append(AsBytes(rest)); !status) return tl::unexpected(std::move(status).error());
  return opened->decoder->Finish();
}

}  // namespace bitsieve::core
