#include "commands/weigh.h"

#include "core/filter/image_pressure.h"

namespace bitsieve::commands {

Weight WeighArguments(CommandContext& context) {
  if (context.arguments.size() > kManyArguments) return Weight::kMany;
  size_t bytes = 0;
  for (const std::string_view argument : context.arguments) bytes += argument.size();
  return bytes > kManyArgumentBytes ? Weight::kMany : Weight::kLight;
}

Weight WeighChanges(CommandContext& context) {
  const size_t items = context.arguments.size();
  const bool many_if_imaged = items > kManyImagedItems && core::ImagePressure::AnyReading();
  if ((many_if_imaged || items > kManyFreshItems) && items <= kManyArguments) {
    const core::Filter* const filter = context.FindFilter();
    if (filter != nullptr && many_if_imaged && core::ImagePressure::IsRead(*filter)) return Weight::kMany;
    if (filter != nullptr && items > kManyFreshItems && filter->TouchesFreshPages(items)) return Weight::kMany;
  }
  return WeighArguments(context);
}

Weight WeighFilter(CommandContext& context) {
  const core::Filter* const filter = context.FindFilter();
  if (filter != nullptr && filter->size_bytes() > kLargeFilterBytes) return Weight::kLarge;
  return WeighArguments(context);
}

Weight WeighFilters(CommandContext& context) {
  if (context.arguments.size() > kManyArguments) return Weight::kLarge;
  const KeyPositions& keys = context.row->keys;
  uint64_t bytes = 0;
  for (int i = keys.first; i <= LastOf(keys, context.arguments.size()); i += keys.step) {
    const FilterPtr filter = context.keyspace().Find(context.arguments[static_cast<size_t>(i)]);
    if (filter != nullptr) bytes += filter->size_bytes();
    if (bytes > kLargeFilterBytes) return Weight::kLarge;
  }
  return WeighArguments(context);
}

}  // namespace bitsieve::commands
