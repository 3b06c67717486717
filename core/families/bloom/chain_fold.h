// chain_fold.h: folding of growing Bloom filters: those of one sub-filter of bits, with one line per item if they are
// blocked, and those that are still lists. Thread-safe: free functions.
#pragma once

#include "core/families/bloom/sub_filter.h"
#include "core/filter/filter_fold.h"

namespace bitsieve::core {

extern const FoldOperations kChainFold;

// Returns by what number sub-filters of one shape are to be divided to have the other; 0 if that cannot be.
uint64_t DivisorBetween(const SubFilterShape& large, const SubFilterShape& small);

// Returns a sub-filter of this shape with the bits, and as many items, of a larger one: DivisorBetween is not 0.
// kOutOfMemory if the budget refuses.
Result<std::unique_ptr<SubFilter>> FoldedCopy(const SubFilter& large, const SubFilterShape& small,
                                              MemoryBudget& budget);

}  // namespace bitsieve::core
