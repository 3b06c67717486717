#include "core/filters/chain_decoder.h"

#include <utility>
#include <vector>

#include "core/filters/link.h"
#include "core/filters/parts_decoder.h"
#include "core/filters/scalable_filter.h"

namespace bitsieve::core {

namespace {

// Fills the links of a chain, oldest first.
class ScalableDecoder final : public PartsDecoder {
 public:
  ScalableDecoder(FilterHeader header, std::vector<std::unique_ptr<Link>> links, MemoryBudget& budget)
      : header_(std::move(header)), links_(std::move(links)), budget_(budget) {
    for (const std::unique_ptr<Link>& link : links_) AddPart(link->memory().bytes().first(link->shape().BodyBytes()));
  }

 private:
  uint64_t Count(size_t part, std::span<const std::byte> bytes) const override { return links_[part]->CountSet(bytes); }

  Status FinishPart(size_t part, uint64_t set_bits) override {
    Link& link = *links_[part];
    if (!IsClearFrom(link.memory().bytes(), link.shape().MemoryBits())) {
      return Corrupt("bits behind the last one of a link are set");
    }
    // Every item set at least one bit that was clear; but repeated ones of the kind counting, which it counts, too.
    if (link.shape().kind != FilterKind::kCounting && header_.links[part].items > set_bits) {
      return Corrupt("a link has fewer bits set than items");
    }
    link.Restore(header_.links[part].items, set_bits);
    return {};
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    return ScalableFilter::FromLinks(header_.params, std::move(links_), budget_);
  }

  const FilterHeader header_;
  std::vector<std::unique_ptr<Link>> links_;
  MemoryBudget& budget_;
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
