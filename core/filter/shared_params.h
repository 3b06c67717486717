// shared_params.h: what filters that differ only in their seeds have in common, kept once: a server may hold millions
// of them. Thread-safe: constant once made.
#pragma once

#include "core/base/intrusive_ptr.h"
#include "core/base/memory_budget.h"
#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

struct SharedParams : OwnerCount {
  // Returns the shared parameters of a filter. The latest are remembered, so filters that are made in turn with few
  // different parameters share. The type of `params` is known. May throw std::bad_alloc.
  static IntrusivePtr<const SharedParams> Of(const FilterParams& params, MemoryBudget& budget);

  const FilterParams params;  // with a seed of 0
  const FilterTypeRow& type;
  MemoryBudget& budget;

  SharedParams(const FilterParams& all_but_seed, MemoryBudget& of_filter)
      : params(all_but_seed), type(*FindFilterType(all_but_seed.type)), budget(of_filter) {}
};

// For IntrusivePtr.
inline void LetGo(const SharedParams* params) {
  if (params->RemoveOwner()) delete params;
}

}  // namespace bitsieve::core
