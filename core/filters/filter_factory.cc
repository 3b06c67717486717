#include "core/filters/filter_factory.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/filters/filter_header.h"
#include "core/filters/fingerprint_decoder.h"
#include "core/filters/fingerprint_filter.h"
#include "core/filters/link.h"
#include "core/filters/redis_cuckoo.h"
#include "core/filters/redis_cuckoo_decoder.h"
#include "core/filters/scalable_filter.h"
#include "core/filters/window_decoder.h"
#include "core/filters/window_filter.h"

namespace bitsieve::core {

namespace {

tl::unexpected<Error> Corrupt(const char* what) {
  return Fail(ErrorCode::kCorrupt, std::string("filter body: ") + what);
}

// Fills the links of a chain, oldest first.
class ScalableDecoder final : public FilterDecoder {
 public:
  ScalableDecoder(FilterHeader header, std::vector<std::unique_ptr<Link>> links, MemoryBudget& budget)
      : header_(std::move(header)), links_(std::move(links)), budget_(budget) {
    for (const std::unique_ptr<Link>& link : links_) body_bytes_ += link->memory().size_bytes();
  }

  uint64_t body_bytes() const override { return body_bytes_; }

  Status Append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (current_ == links_.size()) return Corrupt("it is longer than the header says");
      const BitMemory& memory = links_[current_]->memory();
      const size_t count = std::min<uint64_t>(bytes.size(), memory.size_bytes() - filled_);
      std::memcpy(memory.data() + filled_, bytes.data(), count);
      bytes = bytes.subspan(count);
      filled_ += count;
      if (filled_ < memory.size_bytes()) continue;
      if (Status status = FinishLink(); !status) return status;
    }
    return {};
  }

  Result<std::unique_ptr<Filter>> Finish() override {
    if (current_ != links_.size()) return Corrupt("it is shorter than the header says");
    return ScalableFilter::FromLinks(header_.params, std::move(links_), budget_);
  }

 private:
  Status FinishLink() {
    Link& link = *links_[current_];
    const uint64_t set_bits = link.CountSet();
    if (!SpareBitsAreClear(link)) return Corrupt("bits behind the last one of a link are set");
    // Every item set at least one bit that was clear. Where items can be removed, some of those that the header counts
    // may have been before the bits were read.
    if (link.shape().kind != FilterKind::kCounting && header_.links[current_].items > set_bits)
      return Corrupt("a link has fewer bits set than items");
    link.Restore(header_.links[current_].items, set_bits);
    ++current_;
    filled_ = 0;
    return {};
  }

  static bool SpareBitsAreClear(const Link& link) {
    for (uint64_t bit = link.shape().MemoryBits(); bit < link.memory().size_bytes() * 8; ++bit) {
      if ((std::to_integer<unsigned>(link.memory().data()[bit / 8]) >> (bit % 8) & 1) != 0) return false;
    }
    return true;
  }

  const FilterHeader header_;
  std::vector<std::unique_ptr<Link>> links_;
  MemoryBudget& budget_;
  uint64_t body_bytes_ = 0;
  size_t current_ = 0;   // the link being filled
  uint64_t filled_ = 0;  // bytes of it that are there
};

}  // namespace

Result<std::unique_ptr<Filter>> MakeFilter(const FilterParams& params, MemoryBudget& budget, const Clock& clock) {
  if (params.kind == FilterKind::kWindow) return WindowFilter::Make(params, budget, clock);
  if (params.kind == FilterKind::kFingerprint) return FingerprintFilter::Make(params, budget);
  if (params.kind == FilterKind::kRedisCuckoo) return RedisCuckoo::Make(params, budget);
  return ScalableFilter::Make(params, budget);
}

Result<std::unique_ptr<FilterDecoder>> FilterDecoder::Open(std::string_view header_bytes, MemoryBudget& budget,
                                                           const Clock& clock) {
  const Result<HeaderFrame> frame = OpenHeader(header_bytes);
  if (!frame) return tl::unexpected(frame.error());
  if (frame->kind == FilterKind::kWindow) return OpenWindow(frame->fields, budget, clock);
  if (frame->kind == FilterKind::kFingerprint) return OpenFingerprint(frame->fields, budget);
  if (frame->kind == FilterKind::kRedisCuckoo) return OpenRedisCuckoo(frame->fields, budget);
  Result<FilterHeader> header = DecodeFilterHeader(header_bytes);
  if (!header) return tl::unexpected(std::move(header).error());
  std::vector<std::unique_ptr<Link>> links;
  for (const LinkRecord& record : header->links) {
    Result<std::unique_ptr<Link>> link = MakeLink(record.shape, budget);
    if (!link) return tl::unexpected(std::move(link).error());
    links.push_back(std::move(*link));
  }
  return std::make_unique<ScalableDecoder>(std::move(*header), std::move(links), budget);
}

Result<std::unique_ptr<Filter>> CloneFilter(const Filter& filter, MemoryBudget& budget) {
  constexpr uint64_t kChunkBytes = 256 * 1024;
  const std::unique_ptr<FilterImage> image = filter.Capture();
  Result<std::unique_ptr<FilterDecoder>> decoder = FilterDecoder::Open(image->header(), budget);
  if (!decoder) return tl::unexpected(std::move(decoder).error());
  std::vector<std::byte> chunk(std::min(kChunkBytes, image->body_bytes()));
  for (uint64_t done = 0; done < image->body_bytes(); done += chunk.size()) {
    chunk.resize(std::min<uint64_t>(chunk.size(), image->body_bytes() - done));
    if (Status status = image->Read(done, chunk); !status) return tl::unexpected(std::move(status).error());
    if (Status status = (*decoder)->Append(chunk); !status) return tl::unexpected(std::move(status).error());
  }
  return (*decoder)->Finish();
}

}  // namespace bitsieve::core
