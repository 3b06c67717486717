#include "core/families/ribbon/ribbon_staging.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/families/ribbon/ribbon_filter.h"
#include "core/families/ribbon/ribbon_kernel.h"

namespace bitsieve::core {

RibbonStaging::RibbonStaging(const FilterParams& params, std::unique_ptr<HashSet> hashes, MemoryReservation overhead,
                             MemoryBudget& budget)
    : Filter(params, budget),
      hashes_(std::move(hashes)),
      overhead_(std::move(overhead)),
      most_items_(params.scaling() ? kMaxRibbonItems : params.capacity) {
  SetSizeBytes(hashes_->size_bytes());
}

Result<std::unique_ptr<Filter>> RibbonStaging::Make(const FilterParams& params, MemoryBudget& budget) {
  Result<std::unique_ptr<HashSet>> hashes = HashSet::Make(budget);
  if (!hashes) return tl::unexpected(std::move(hashes).error());
  return FromHashes(params, std::move(*hashes), budget);
}

Result<std::unique_ptr<Filter>> RibbonStaging::FromHashes(const FilterParams& params, std::unique_ptr<HashSet> hashes,
                                                          MemoryBudget& budget) {
  MemoryReservation overhead = MemoryReservation::TryTake(budget, sizeof(RibbonStaging) + sizeof(HashSet));
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a filter");
  return std::unique_ptr<Filter>(new RibbonStaging(params, std::move(hashes), std::move(overhead), budget));
}

void RibbonStaging::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  for (size_t i = 0; i < hashes.size(); ++i) present[i] = hashes_->Contains(RibbonKey(hashes[i])) ? 1 : 0;
}

void RibbonStaging::PrefetchLines(std::span<const KeyHash> hashes) const {
  for (const KeyHash& hash : hashes) hashes_->Prefetch(RibbonKey(hash));
}

size_t RibbonStaging::DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept {
  size_t done = 0;
  while (done < hashes.size()) {
    const auto add = [&]() BITSIEVE_REQUIRES(writers()) { return AddOne(hashes[done]); };
    outcomes[done] = building_ ? AddOutcome::kFrozen : UnlessMemoryIsRefused(add);
    if (outcomes[done++] == AddOutcome::kFull) break;
  }
  SetSizeBytes(hashes_->size_bytes());
  return done;
}

AddOutcome RibbonStaging::AddOne(const KeyHash& hash) {
  const uint64_t key = RibbonKey(hash);
  if (hashes_->size() >= most_items_) {
    if (hashes_->Contains(key)) return AddOutcome::kPresent;
    return shared_params().scaling() ? AddOutcome::kCannotGrow : AddOutcome::kFull;
  }
  switch (hashes_->Insert(key)) {
    case HashSet::Outcome::kPresent:
      return AddOutcome::kPresent;
    case HashSet::Outcome::kAdded:
      if (FalsePositiveList* const list = false_positives_.get()) list->TakeOff(hash);
      return AddOutcome::kAdded;
    case HashSet::Outcome::kOutOfMemory:
      break;
  }
  return AddOutcome::kOutOfMemory;
}

RecordOutcome RibbonStaging::RecordFalsePositive(const KeyHash& hash) noexcept {
  if (handed_over_) return RecordOutcome::kMoved;
  const FalsePositiveList* const list = false_positives_.get();
  if (hashes_->Contains(RibbonKey(hash)) || (list != nullptr && list->Contains(hash))) return RecordOutcome::kNothing;
  return PutFalsePositive(hash);
}

bool RibbonStaging::CopyFalsePositivesTo(Filter& frozen) const {
  const std::vector<KeyHash> known = KnownFalsePositives();
  std::vector<RecordOutcome> outcomes(known.size());
  frozen.RecordFalsePositives(known, outcomes);
  return std::ranges::find(outcomes, RecordOutcome::kRecorded) != outcomes.end();
}

bool RibbonStaging::HandOverTo(Filter& frozen) {
  {
    const LockGuard lock(writers());
    handed_over_ = true;
  }
  return CopyFalsePositivesTo(frozen);
}

uint64_t RibbonStaging::ChangeCount() const {
  const FalsePositiveList* const list = false_positives_.get();
  return hashes_->size() + turns_.load(std::memory_order_relaxed) + (list == nullptr ? 0 : list->changes());
}

uint64_t RibbonStaging::size_bytes() const {
  const FalsePositiveList* const list = false_positives_.get();
  return hashes_->size_bytes() + overhead_.bytes() + (list == nullptr ? 0 : list->size_bytes());
}

// Two items are taken for one if 64 bits of their hashes are the same.
std::optional<double> RibbonStaging::EstimatedErrorRate() const {
  return std::ldexp(static_cast<double>(ItemCount()), -64);
}

FilterInfo RibbonStaging::Info() const {
  FilterInfo info;
  info.capacity = shared_params().capacity;
  info.items = hashes_->size();
  info.size_bytes = size_bytes();
  info.sub_filters = 1;
  info.fill_ratio = std::min(1.0, static_cast<double>(info.items) / static_cast<double>(info.capacity));
  if (info.items != 0) info.bits_per_item = 8 * static_cast<double>(info.size_bytes) / static_cast<double>(info.items);
  if (const FalsePositiveList* const list = false_positives_.get()) info.false_positives = list->size();
  const LockGuard lock(writers());
  info.freeze.state = building_ ? FreezeState::kBuilding : FreezeState::kStaging;
  info.freeze.percent = building_ ? percent_.load(std::memory_order_relaxed) : 0;
  info.freeze.failure = failure_;
  return info;
}

bool RibbonStaging::Close() {
  const LockGuard lock(writers());
  if (building_) return false;
  building_ = true;
  turns_.fetch_add(1, std::memory_order_relaxed);
  MarkChanged();
  failure_.clear();
  percent_.store(0, std::memory_order_relaxed);
  return true;
}

void RibbonStaging::Reopen(std::string failure) {
  const LockGuard lock(writers());
  building_ = false;
  handed_over_ = false;
  turns_.fetch_add(1, std::memory_order_relaxed);
  failure_ = std::move(failure);
}

Result<std::unique_ptr<Filter>> RibbonStaging::Build(MemoryBudget& budget, const std::function<bool()>& keep_going) {
  return RibbonFilter::Build(params(), *hashes_, budget, [&](uint64_t done, uint64_t all) {
    percent_.store(static_cast<uint32_t>(done * 100 / all), std::memory_order_relaxed);
    return keep_going();
  });
}

// Parts of the log: they stay as they are, whatever is added after them.
class RibbonStaging::Image final : public FilterImage {
 public:
  explicit Image(const RibbonStaging& filter) {
    const uint64_t items = filter.hashes_->size();
    header_ = EncodeRibbonHeader({filter.params(), false, items, {}});
    for (const std::span<const uint64_t> part : filter.hashes_->Log()) {
      parts_.push_back({body_bytes_, std::as_bytes(part)});
      body_bytes_ += part.size_bytes();
    }
  }

  const std::string& header() const override { return header_; }
  uint64_t body_bytes() const override { return body_bytes_; }

  Status Read(uint64_t offset, std::span<std::byte> out) override {
    auto part = std::upper_bound(parts_.begin(), parts_.end(), offset,
                                 [](uint64_t asked, const Part& each) { return asked < each.begin; });
    for (part = part == parts_.begin() ? part : part - 1; !out.empty(); ++part) {
      const std::span<const std::byte> bytes = part->bytes.subspan(offset - part->begin);
      const size_t count = std::min(bytes.size(), out.size());
      std::memcpy(out.data(), bytes.data(), count);
      out = out.subspan(count);
      offset += count;
    }
    return {};
  }

 private:
  struct Part {
    uint64_t begin;
    std::span<const std::byte> bytes;
  };

  std::string header_;
  std::vector<Part> parts_;
  uint64_t body_bytes_ = 0;
};

std::unique_ptr<FilterImage> RibbonStaging::DoCapture(const ImagePool&) const { return std::make_unique<Image>(*this); }

}  // namespace bitsieve::core
