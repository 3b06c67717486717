// dispatcher_bench.cc: what a command costs between parsed arguments and reply bytes, in pipelines of 64: finding the
// command and the filter, hashing, probing and replying. Time per command, or per item for the commands of many items.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "tests/support/command_fixture.h"

namespace {

using bitsieve::test::BatchOf;
using bitsieve::test::CommandFixture;
using bitsieve::test::Words;

constexpr size_t kPipeline = 64;
constexpr size_t kItems = 100;

void Run(benchmark::State& state, CommandFixture& fixture, const std::vector<std::vector<Words>>& pipelines,
         size_t units_per_pipeline) {
  std::vector<bitsieve::server::CommandBatch> batches;
  for (const std::vector<Words>& commands : pipelines) batches.push_back(BatchOf(commands));
  std::string out;
  bitsieve::protocol::ReplyWriter reply(out);
  size_t next = 0;
  for (auto _ : state) {
    out.clear();
    fixture.dispatcher->Execute(fixture.session, batches[next], 0, reply);
    next = (next + 1) % batches.size();
  }
  const auto units = static_cast<double>(state.iterations() * units_per_pipeline);
  state.counters["each"] = benchmark::Counter(units, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// `pipelines` pipelines of `commands` commands with `items` items each, no item twice.
std::vector<std::vector<Words>> Pipelines(const std::string& name, size_t pipelines, size_t commands, size_t items) {
  std::vector<std::vector<Words>> made(pipelines);
  uint64_t item = 0;
  for (std::vector<Words>& pipeline : made) {
    for (size_t i = 0; i < commands; ++i) {
      Words command{name, "filter"};
      for (size_t j = 0; j < items; ++j) command.push_back("item:" + std::to_string(item++));
      pipeline.push_back(std::move(command));
    }
  }
  return made;
}

void Reserve(CommandFixture& fixture, int64_t capacity) {
  fixture.Reply({"BF.RESERVE", "filter", "0.01", std::to_string(capacity)});
}

void BM_Ping(benchmark::State& state) {
  CommandFixture fixture;
  Run(state, fixture, {std::vector<Words>(kPipeline, Words{"PING"})}, kPipeline);
}
BENCHMARK(BM_Ping);

void BM_OneItem(benchmark::State& state, const std::string& name) {
  CommandFixture fixture;
  Reserve(fixture, state.range(0));
  Run(state, fixture, Pipelines(name, 512, kPipeline, 1), kPipeline);
}
BENCHMARK_CAPTURE(BM_OneItem, Exists, "BF.EXISTS")->Arg(1'000'000)->Arg(100'000'000);
BENCHMARK_CAPTURE(BM_OneItem, Add, "BF.ADD")->Arg(1'000'000)->Arg(100'000'000);

void BM_ManyItems(benchmark::State& state, const std::string& name) {
  CommandFixture fixture;
  Reserve(fixture, state.range(0));
  Run(state, fixture, Pipelines(name, 512, 1, kItems), kItems);
}
BENCHMARK_CAPTURE(BM_ManyItems, MultiExists, "BF.MEXISTS")->Arg(1'000'000)->Arg(100'000'000);
BENCHMARK_CAPTURE(BM_ManyItems, MultiAdd, "BF.MADD")->Arg(1'000'000)->Arg(100'000'000);

}  // namespace
