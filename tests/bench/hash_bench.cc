// hash_bench.cc: what hashing an item costs under each hash function, by the item's length: time per item, of a stream
// of different items, as a pipeline of commands hashes them.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "core/filter/filter_factory.h"

namespace {

using namespace bitsieve::core;

void HashItems(benchmark::State& state, HashKind kind) {
  MemoryBudget budget;
  FilterParams params;
  params.hash = kind;
  params.seed = 0x5EED;
  const auto filter = MakeFilter(params, budget, SystemClock()).value();
  std::vector<std::string> items;
  for (int i = 0; i < 64; ++i) {
    items.push_back(std::to_string(1'000'000 + i));
    items.back().resize(static_cast<size_t>(state.range(0)), 'x');
  }
  for (auto _ : state) {
    for (const std::string& item : items) benchmark::DoNotOptimize(filter->HashOf(item));
  }
  state.SetItemsProcessed(state.iterations() * 64);
  state.counters["ns"] = benchmark::Counter(static_cast<double>(state.iterations()) * 64 * 1e-9,
                                            benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void Lengths(benchmark::internal::Benchmark* bench) { bench->Arg(8)->Arg(16)->Arg(32)->Arg(64)->Arg(256); }

BENCHMARK_CAPTURE(HashItems, xxh3, HashKind::kXxh3)->Apply(Lengths);
BENCHMARK_CAPTURE(HashItems, murmur3, HashKind::kMurmur3)->Apply(Lengths);
BENCHMARK_CAPTURE(HashItems, fnv1a, HashKind::kFnv1a)->Apply(Lengths);
BENCHMARK_CAPTURE(HashItems, sip, HashKind::kSip)->Apply(Lengths);

}  // namespace
