#include "core/filter/filter_union.h"

#include <string>

#include "core/filter/filter_type.h"

namespace bitsieve::core {
namespace {

// Calls use(operations) with those of the filter's type, or refuses. The others must be of this type, too: the
// operations know the class of no other, and may begin with any of them.
template <class Use>
auto WithOperations(const Filter& filter, std::span<const Filter* const> others, const Use& use)
    -> decltype(use(*filter.type().unite)) {
  if (filter.type().unite == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                CannotText(filter.type(), "be merged", [](const FilterTypeRow& row) { return row.unite != nullptr; }));
  }
  for (const Filter* const other : others) {
    if (&other->type() == &filter.type()) continue;
    return Fail(ErrorCode::kInvalidArgument, "they differ in their type: " + std::string(filter.type().name) + " and " +
                                                 std::string(other->type().name));
  }
  return use(*filter.type().unite);
}

}  // namespace

Result<double> EstimateUnion(std::span<const Filter* const> filters) {
  return WithOperations(*filters[0], filters, [&](const UnionOperations& unite) { return unite.estimate(filters); });
}

Result<std::unique_ptr<Filter>> Unite(std::span<const Filter* const> filters, MemoryBudget& budget,
                                      const Clock& clock) {
  return WithOperations(*filters[0], filters,
                        [&](const UnionOperations& unite) { return unite.make(filters, budget, clock); });
}

Status UniteInto(Filter& destination, std::span<const Filter* const> sources) {
  return WithOperations(destination, sources,
                        [&](const UnionOperations& unite) { return unite.into(destination, sources); });
}

}  // namespace bitsieve::core
