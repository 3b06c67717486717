#include "core/filters/chain_decoder.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/filters/link.h"
#include "core/filters/scalable_filter.h"

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
    for (const std::unique_ptr<Link>& link : links_) body_bytes_ += link->shape().BodyBytes();
  }

  uint64_t body_bytes() const override { return body_bytes_; }

  Status Append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      if (current_ == links_.size()) return Corrupt("it is longer than the header says");
      const Link& link = *links_[current_];
      const uint64_t size = link.shape().BodyBytes();
      const size_t count = std::min<uint64_t>(bytes.size(), size - filled_);
      std::memcpy(link.memory().data() + filled_, bytes.data(), count);
      bytes = bytes.subspan(count);
      filled_ += count;
      if (filled_ < size) continue;
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

// All of it, before the first part is allocated.
bool HasRoom(const FilterHeader& header, MemoryBudget& budget) {
  uint64_t bytes = 0;
  for (const LinkRecord& record : header.links) bytes += record.shape.SizeBytes() + ScalableFilter::OverheadBytes();
  return MemoryReservation::TryTake(budget, bytes).held();
}

}  // namespace

Result<std::unique_ptr<FilterDecoder>> OpenChain(FilterHeader header, MemoryBudget& budget) {
  if (!HasRoom(header, budget))
    return Fail(ErrorCode::kOutOfMemory, "cannot take the memory for all links of a filter");
  std::vector<std::unique_ptr<Link>> links;
  for (const LinkRecord& record : header.links) {
    Result<std::unique_ptr<Link>> link = MakeLink(record.shape, budget);
    if (!link) return tl::unexpected(std::move(link).error());
    links.push_back(std::move(*link));
  }
  return std::make_unique<ScalableDecoder>(std::move(header), std::move(links), budget);
}

}  // namespace bitsieve::core
