// filter_fold.h: makes a filter smaller without its items. A filter of the types blocked and classic that was made for
// more items than will come is folded to a smaller capacity: neighbouring lines, or bits, become one, and the result is
// bit for bit what a filter of that size would hold had the same items been added to it. The size is divided by the
// largest number that divides it and leaves the requested error rate to the new capacity; filters of 200 lines or bits
// and more have sizes with small divisors (FoldableSize in core/families/bloom/fold.h).
//
// States      The filter stays in use meanwhile. From Begin on, what is added to it is added to the folded filter, too.
//             Run copies what was there before, slice by slice. TakeOver, in the moment in which the folded filter gets
//             the name, makes it the one that counts: it continues the numbers of the filter's changes, and whoever
//             still holds the filter adds to the folded one. Without TakeOver the filter stays as it is.
// Threads     thread-compatible; the filters are used by others at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/content_turn.h"
#include "core/filter/filter.h"
#include "core/filter/filter_ptr.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

// kInvalidArgument, with the smallest capacity that will do, if the filter holds more items than `capacity`.
Status CheckItemsToFold(const Filter& filter, uint64_t capacity);

// Returns the filter of the smallest capacity to whose size `filter` can be folded; null if there is none.
const Filter* SmallestToFoldTo(const Filter& filter, std::span<const Filter* const> others);

class FilterFold {
 public:
  // Begins to fold. Waits for a union or a fold of the same filter that is under way. kInvalidArgument, with what would
  // be right, if the filter cannot be folded to this target: its type cannot, it has grown, it has two lines per
  // item, it holds more items, or no divisor of its size fits. kOutOfMemory if the budget refuses.
  static Result<std::unique_ptr<FilterFold>> Begin(const FilterPtr& filter, const FoldTarget& target,
                                                   MemoryBudget& budget);
  // Ends passing on what is added, unless TakeOver has succeeded.
  ~FilterFold();

  // Folds all slices.
  void Run();
  // Makes the folded filter the one that counts, as above, in constant time. It must then be logged as rewritten.
  // kInvalidArgument if the filter holds more items than the new capacity by now.
  Status TakeOver();

  const FilterPtr& filter() const { return filter_; }
  const FilterPtr& folded() const { return folded_; }

 private:
  friend class Filter;

  FilterFold(const FilterPtr& filter, uint64_t capacity)
      : filter_(filter), capacity_(capacity), operations_(*filter->type().fold), turn_(*filter) {}
  // Returns the number of slices; nothing if the filter has changed its form since the folded one was made.
  Result<std::optional<uint64_t>> BeginToPassOn();

  // Returns the folded filter of one that passes on what is added.
  static FilterPtr SuccessorOf(const Filter& filter);
  // To be called when nothing is passed on any more.
  static void Forget(const Filter& filter);

  const FilterPtr filter_;
  FilterPtr folded_;
  const uint64_t capacity_;
  const FoldOperations& operations_;
  uint64_t slices_ = 0;
  const ContentTurn turn_;
};

}  // namespace bitsieve::core
