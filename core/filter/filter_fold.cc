#include "core/filter/filter_fold.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/roll_back.h"

namespace bitsieve::core {

namespace {

// The filters that pass on what is added to them: few at any time, so that no filter needs a place for a pointer.
struct Successors {
  Mutex mutex;
  std::unordered_map<const Filter*, FilterPtr> all BITSIEVE_GUARDED_BY(mutex);
};

Successors& AllSuccessors() {
  static Successors& successors = *new Successors;
  return successors;
}

tl::unexpected<Error> WasFolded() {
  return Fail(ErrorCode::kInvalidArgument, "it was folded at the same moment: try again");
}

}  // namespace

Status CheckItemsToFold(const Filter& filter, uint64_t capacity) {
  const uint64_t items = filter.ItemCount();
  if (items <= capacity) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "it holds " + std::to_string(items) + " items, which is the smallest capacity that keeps its error rate");
}

const Filter* SmallestToFoldTo(const Filter& filter, std::span<const Filter* const> others) {
  const Filter* smallest = nullptr;
  if (filter.type().fold == nullptr) return smallest;
  for (const Filter* const other : others) {
    if (!filter.type().fold->folds_to(filter, *other)) continue;
    if (smallest == nullptr || other->params().capacity < smallest->params().capacity) smallest = other;
  }
  return smallest;
}

Result<std::unique_ptr<FilterFold>> FilterFold::Begin(const FilterPtr& filter, const FoldTarget& target,
                                                      MemoryBudget& budget) {
  if (filter->type().fold == nullptr) {
    const auto can = [](const FilterTypeRow& row) { return row.fold != nullptr; };
    return Fail(ErrorCode::kInvalidArgument, CannotText(filter->type(), "be folded", can));
  }
  std::unique_ptr<FilterFold> fold(new FilterFold(filter, target.capacity));
  while (true) {
    Result<std::unique_ptr<Filter>> made = fold->operations_.make(*filter, target, budget);
    if (!made) return tl::unexpected(std::move(made).error());
    fold->folded_ = FilterPtr(std::move(*made));
    const Result<std::optional<uint64_t>> slices = fold->BeginToPassOn();
    if (!slices) return tl::unexpected(slices.error());
    if (!*slices) continue;
    fold->slices_ = **slices;
    return fold;
  }
}

// The moment: what was added before is in the slices, and what is added later is passed on.
Result<std::optional<uint64_t>> FilterFold::BeginToPassOn() {
  Successors& successors = AllSuccessors();
  {
    const LockGuard lock(successors.mutex);
    if (!successors.all.try_emplace(filter_.get(), folded_).second) return WasFolded();
  }
  RollBack forgotten([this] { Forget(*filter_); });
  const LockGuard lock(filter_->writers_);
  const Result<std::optional<uint64_t>> slices = operations_.begin(*filter_, *folded_);
  if (!slices || !*slices) return slices;
  filter_->passes_on_ = true;
  forgotten.Dismiss();
  return slices;
}

FilterFold::~FilterFold() {
  {
    const LockGuard lock(filter_->writers_);
    if (!filter_->passes_on_ || filter_->succeeded_) return;
    filter_->passes_on_ = false;
  }
  Forget(*filter_);
}

void FilterFold::Run() {
  for (uint64_t slice = 0; slice < slices_; ++slice) operations_.fold_slice(*filter_, *folded_, slice);
}

Status FilterFold::TakeOver() {
  const LockGuard lock(filter_->writers_);
  if (Status status = CheckItemsToFold(*filter_, capacity_); !status) return status;
  const LockGuard lock_of_folded(folded_->writers_);
  filter_->HandOverTo(*folded_);
  return {};
}

FilterPtr FilterFold::SuccessorOf(const Filter& filter) {
  Successors& successors = AllSuccessors();
  const LockGuard lock(successors.mutex);
  return successors.all.at(&filter);
}

void FilterFold::Forget(const Filter& filter) {
  FilterPtr successor;  // may die, after the lock is gone
  Successors& successors = AllSuccessors();
  const LockGuard lock(successors.mutex);
  const auto found = successors.all.find(&filter);
  if (found == successors.all.end()) return;
  successor = std::move(found->second);
  successors.all.erase(found);
}

}  // namespace bitsieve::core
