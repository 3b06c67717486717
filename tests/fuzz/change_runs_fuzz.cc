// Changes as a follower receives them: any bytes are applied to a filter of a type that the first byte chooses, or
// refused. What was applied reads as the same bytes again, and leaves a filter that can be dumped and restored.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/filter/change_runs.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_type.h"
#include "tests/support/filter_types.h"

namespace bitsieve::core {
namespace {

std::unique_ptr<Filter> MakeOfType(size_t number, MemoryBudget& budget, const Clock& clock) {
  const FilterTypeRow& type = *FilterTypes()[number % FilterTypes().size()];
  if (!type.made.by_reserve) return nullptr;
  FilterParams params;
  params.type = type.type;
  params.capacity = 20;
  params.seed = 1;
  test::SetRequiredParams(params);
  auto filter = MakeFilter(Settled(params), budget, clock);
  return filter ? std::move(*filter) : nullptr;
}

void ApplyAll(std::string_view bytes, Filter& filter, FilterClock& clock) {
  while (!bytes.empty()) {
    const std::string_view before = bytes;
    const Result<ChangeRun> run = TakeChangeRun(bytes);
    if (!run) return;
    const std::string_view taken = before.substr(0, before.size() - bytes.size());
    if (taken.size() != ChangeRunBytes(run->time_ms, run->until_ms, run->hashes.size() / sizeof(KeyHash))) std::abort();
    if (!ApplyChangeRun(filter, clock, *run)) return;
  }
}

}  // namespace
}  // namespace bitsieve::core

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitsieve::core;
  if (size == 0) return 0;
  MemoryBudget budget(16 << 20);
  FilterClock clock;
  const std::unique_ptr<Filter> filter = MakeOfType(data[0], budget, clock);
  if (filter == nullptr) return 0;
  ApplyAll({reinterpret_cast<const char*>(data) + 1, size - 1}, *filter, clock);
  MemoryBudget ample;
  const Result<std::string> dump = DumpFilter(*filter);
  if (dump && !RestoreFilter(*dump, ample, clock)) std::abort();
  return 0;
}
