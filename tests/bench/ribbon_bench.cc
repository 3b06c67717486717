// Measures the cost of a ribbon filter: collecting, building, bits per item, lookups in either state. For figures of an
// unshared core: --benchmark_filter='/10000000'. A rate is shown as its power of ten: 2 is 1%.
#include <benchmark/benchmark.h>

#include <cmath>
#include <map>
#include <random>
#include <vector>

#include "core/families/ribbon/ribbon_type.h"
#include "core/filter/filter_factory.h"
#include "core/filter/staging.h"

namespace bitsieve {
namespace {

using core::KeyHash;

core::MemoryBudget budget;
constexpr size_t kBatch = 64;

KeyHash HashOfItem(uint64_t item) {
  const core::FilterParams params;
  return core::HashItem({reinterpret_cast<const char*>(&item), sizeof item}, params.seed);
}

std::unique_ptr<core::Filter> Collect(uint64_t items, double rate) {
  core::FilterParams params;
  params.type = core::kRibbonType;
  params.error_rate = rate;
  params.capacity = items;
  auto filter = std::move(core::MakeFilter(params, budget, core::SystemClock()).value());
  std::vector<KeyHash> hashes(kBatch);
  std::vector<core::AddOutcome> outcomes(kBatch);
  for (uint64_t item = 0; item < items; item += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) hashes[i] = HashOfItem(item + i);
    filter->Prefetch(hashes);
    filter->Add(hashes, outcomes);
  }
  return filter;
}

std::unique_ptr<core::Filter> Build(core::Filter& staging) {
  return std::move(staging.staging()->Build(budget, [] { return true; }).value());
}

double RateOf(const benchmark::State& state) { return std::pow(10.0, -static_cast<double>(state.range(1))); }

// Returns a frozen filter that is made once for all callers.
core::Filter& FrozenOf(uint64_t items, double rate) {
  static std::map<std::pair<uint64_t, double>, std::unique_ptr<core::Filter>> made;
  auto& filter = made[{items, rate}];
  if (filter == nullptr) filter = Build(*Collect(items, rate));
  return *filter;
}

void Collecting(benchmark::State& state) {
  const auto items = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    const auto filter = Collect(items, 0.01);
    state.counters["bytes_an_item"] = static_cast<double>(filter->Info().size_bytes) / static_cast<double>(items);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Building(benchmark::State& state) {
  const auto staging = Collect(static_cast<uint64_t>(state.range(0)), RateOf(state));
  std::unique_ptr<core::Filter> frozen;
  for (auto _ : state) frozen = Build(*staging);
  const core::FilterInfo info = frozen->Info();
  const auto items = static_cast<double>(info.items);
  state.counters["ns_an_item"] =
      benchmark::Counter(items * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bits_an_item"] = info.bits_per_item;
  state.counters["over_bound"] = info.bits_per_item / std::log2(1 / RateOf(state));
}

// Looks up batches as the server does: hash all, prefetch all, look up all.
void LookUp(benchmark::State& state, const core::Filter& filter, uint64_t first, uint64_t range) {
  std::mt19937_64 random(1);
  std::vector<KeyHash> hashes(kBatch);
  std::vector<uint8_t> present(kBatch);
  uint64_t found = 0;
  uint64_t asked = 0;
  for (auto _ : state) {
    for (KeyHash& hash : hashes) hash = HashOfItem(first + random() % range);
    filter.Prefetch(hashes);
    filter.MayContain(hashes, present);
    for (const uint8_t yes : present) found += yes;
    asked += kBatch;
  }
  state.SetItemsProcessed(static_cast<int64_t>(asked));
  state.counters["found"] = static_cast<double>(found) / static_cast<double>(asked);
  state.counters["ns_an_item"] =
      benchmark::Counter(kBatch * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void LookingUpPresent(benchmark::State& state) {
  const auto items = static_cast<uint64_t>(state.range(0));
  LookUp(state, FrozenOf(items, RateOf(state)), 0, items);
}
void LookingUpAbsent(benchmark::State& state) {
  LookUp(state, FrozenOf(static_cast<uint64_t>(state.range(0)), RateOf(state)), uint64_t{1} << 40, uint64_t{1} << 60);
}
void LookingUpStaged(benchmark::State& state) {
  const auto items = static_cast<uint64_t>(state.range(0));
  LookUp(state, *Collect(items, 0.01), 0, items);
}
// Measures hashing and the loop over a batch, without lookups.
void Hashing(benchmark::State& state) {
  std::mt19937_64 random(1);
  for (auto _ : state) {
    for (size_t i = 0; i < kBatch; ++i) benchmark::DoNotOptimize(HashOfItem(random() % 1'000'000));
  }
  state.counters["ns_an_item"] =
      benchmark::Counter(kBatch * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t items : {1'000'000, 10'000'000, 100'000'000}) benchmark->Args({items, 2});
}
void SizesAndRates(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t items : {1'000'000, 10'000'000, 100'000'000}) {
    for (const int64_t rate : {2, 3, 4, 6}) benchmark->Args({items, rate});
  }
}

BENCHMARK(Hashing);
BENCHMARK(Collecting)->Apply(Sizes)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(Building)->Apply(SizesAndRates)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(LookingUpStaged)->Apply(Sizes);
BENCHMARK(LookingUpPresent)->Apply(SizesAndRates);
BENCHMARK(LookingUpAbsent)->Apply(SizesAndRates);

}  // namespace
}  // namespace bitsieve
