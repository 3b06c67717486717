#include "core/filter/filter_union.h"

#include "core/filter/filter_type.h"

namespace bitsieve::core {
namespace {

// Calls use(operations) with those of the filter's type, or refuses.
template <class Use>
auto WithOperations(const Filter& filter, const Use& use) -> decltype(use(*filter.type().unite)) {
  if (filter.type().unite != nullptr) return use(*filter.type().unite);
  return Fail(ErrorCode::kInvalidArgument,
              CannotText(filter.type(), "be merged", [](const FilterTypeRow& row) { return row.unite != nullptr; }));
}

}  // namespace

Result<double> EstimateUnion(std::span<const Filter* const> filters) {
  return WithOperations(*filters[0], [&](const UnionOperations& unite) { return unite.estimate(filters); });
}

Result<std::unique_ptr<Filter>> Unite(std::span<const Filter* const> filters, MemoryBudget& budget,
                                      const Clock& clock) {
  return WithOperations(*filters[0], [&](const UnionOperations& unite) { return unite.make(filters, budget, clock); });
}

Status UniteInto(Filter& destination, std::span<const Filter* const> sources) {
  return WithOperations(destination, [&](const UnionOperations& unite) { return unite.into(destination, sources); });
}

}  // namespace bitsieve::core
