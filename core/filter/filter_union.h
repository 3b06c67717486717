// filter_union.h: what several filters hold together. Filters whose bits mean the same (equal type, seed and shapes of
// sub-filters) are united by ORing them: the result answers as a filter does to which the items of all were added.
//
// Counting filters are united by adding their counters up to the largest value; they must not have grown.
//
// A destination that is in use is united slice by slice: others add to it in between, and an image or a reader may see
// a part of the union. Its items count from the beginning.
//
// Sub-filters are united with those of equal place in the other chain; where the chains are of different lengths, the
// longest gives a new filter its length. The filters may be in use: what was added before the call counts, what is
// added during it may. Nothing is added to a destination during the call. Thread-safe: free functions.
//
// Known false positives of the union are those that one of the filters knows and none of the others shows, as far as
// there is room for them. One that is noted during the call counts as noted after it.
//
// The item count of a union is estimated from the fill (EstimatedItems in sizing.h), which is right within about the
// square root of the number; of type counting it is the sum. An item that one chain has in its first sub-filter and
// another in its second counts twice.
#pragma once

#include <memory>
#include <span>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"

namespace bitsieve::core {

// Distinct items in the union of these filters, at least one. kInvalidArgument names what differs, or the type that
// cannot be united.
Result<double> EstimateUnion(std::span<const Filter* const> filters);

// A new filter. kInvalidArgument as above, or if the union holds more items than a sub-filter is made for, so that its
// error rate could not be kept; kOutOfMemory if the budget refuses.
Result<std::unique_ptr<Filter>> Unite(std::span<const Filter* const> filters, MemoryBudget& budget, const Clock& clock);

// Adds to `destination`, which may be in use, all that the sources hold; it may be one of them. A reader finds each
// item at some moment of the call, and from then on always. kInvalidArgument as above, or if a source has more
// sub-filters than the destination; then nothing is changed.
Status UniteInto(Filter& destination, std::span<const Filter* const> sources);

}  // namespace bitsieve::core
