// Measures the cost of known false positives in a filter of type blocked with 10^6 items at 1%: lookups of its items
// and of absent items, by the number of known false positives, which is the argument; and noting all of them and then
// adding them.
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/filter/filter_factory.h"

namespace bitsieve {
namespace {

using core::KeyHash;
using core::RecordOutcome;

constexpr size_t kItems = 1'000'000, kBatch = 64;
core::MemoryBudget budget;

struct Made {
  std::unique_ptr<core::Filter> filter;
  std::vector<KeyHash> items, absent, wrong;

  explicit Made(size_t known) {
    core::FilterParams params;
    params.capacity = kItems;
    params.seed = 1;
    filter = std::move(core::MakeFilter(params, budget, core::SystemClock()).value());
    for (size_t i = 0; i < kItems; ++i) {
      items.push_back(filter->HashOf(std::to_string(i)));
      absent.push_back(filter->HashOf("absent" + std::to_string(i)));
    }
    std::vector<core::AddOutcome> added(kItems);
    filter->Add(items, added);
    for (size_t i = 0; wrong.size() < core::FalsePositiveList::kMaxHashes; ++i) {
      const KeyHash hash = filter->HashOf("wrong" + std::to_string(i));
      uint8_t present = 0;
      filter->MayContain({&hash, 1}, {&present, 1});
      if (present != 0) wrong.push_back(hash);
    }
    std::vector<RecordOutcome> outcomes(known);
    filter->RecordFalsePositives(std::span(wrong).first(known), outcomes);
  }
};

Made& Knowing(int64_t known) {
  static std::map<int64_t, std::unique_ptr<Made>> made;
  auto& one = made[known];
  if (one == nullptr) one = std::make_unique<Made>(static_cast<size_t>(known));
  return *one;
}

void Ask(benchmark::State& state, const core::Filter& filter, const std::vector<KeyHash>& hashes, size_t batch) {
  std::vector<uint8_t> present(batch);
  size_t first = 0;
  for (auto _ : state) {
    const std::span some(hashes.data() + first, batch);
    filter.Prefetch(some);
    filter.MayContain(some, present);
    benchmark::DoNotOptimize(present.data());
    first = first + 2 * batch <= hashes.size() ? first + batch : 0;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(batch));
}

void FoundInBatches(benchmark::State& state) {
  Ask(state, *Knowing(state.range(0)).filter, Knowing(state.range(0)).items, kBatch);
}
void AbsentInBatches(benchmark::State& state) {
  Ask(state, *Knowing(state.range(0)).filter, Knowing(state.range(0)).absent, kBatch);
}
void FoundOneByOne(benchmark::State& state) {
  Ask(state, *Knowing(state.range(0)).filter, Knowing(state.range(0)).items, 1);
}
void AbsentOneByOne(benchmark::State& state) {
  Ask(state, *Knowing(state.range(0)).filter, Knowing(state.range(0)).absent, 1);
}

// Each iteration notes as many false positives as a filter takes, and then adds them.
void NotingAndAdding(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Made made(0);
    std::vector<RecordOutcome> noted(made.wrong.size());
    std::vector<core::AddOutcome> added(made.wrong.size());
    state.ResumeTiming();
    made.filter->RecordFalsePositives(made.wrong, noted);
    made.filter->Add(made.wrong, added);
  }
  state.SetItemsProcessed(state.iterations() * int64_t{core::FalsePositiveList::kMaxHashes});
}

BENCHMARK(FoundInBatches)->Arg(0)->Arg(10)->Arg(1'000)->Arg(65'536);
BENCHMARK(AbsentInBatches)->Arg(0)->Arg(10)->Arg(1'000)->Arg(65'536);
BENCHMARK(FoundOneByOne)->Arg(0)->Arg(10)->Arg(1'000)->Arg(65'536);
BENCHMARK(AbsentOneByOne)->Arg(0)->Arg(10)->Arg(1'000)->Arg(65'536);
BENCHMARK(NotingAndAdding)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace bitsieve
