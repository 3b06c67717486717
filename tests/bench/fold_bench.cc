// Prints how long folding takes, which a worker does while the filter is in use.
//
//   fold_bench [--bytes N]
//
// The rows are filters of about so many bytes, filled to a sixteenth of their capacity, that are folded to a part of
// it. They show processor seconds of the fold, apart for the program and for the system, which hands out the new
// filter's memory, and the bytes before and after.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <string>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_fold.h"
#include "tests/support/key_source.h"

namespace bitsieve {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

rusage ThreadUse() {
  rusage use{};
  getrusage(RUSAGE_THREAD, &use);
  return use;
}

core::FilterPtr MakeFilled(core::FilterType type, uint64_t capacity, core::MemoryBudget& budget) {
  core::FilterParams params;
  params.type = type;
  params.capacity = capacity;
  core::ShareForStatedCapacity(params);
  core::FilterPtr filter = core::MakeFilter(params, budget, core::SystemClock()).value();
  std::array<core::KeyHash, 64> hashes;
  std::array<core::AddOutcome, 64> outcomes;
  for (uint64_t item = 0; item < capacity / 16;) {
    for (core::KeyHash& hash : hashes) {
      hash = {test::Mix(2 * item + 1), test::Mix(3 * item)};
      ++item;
    }
    filter->Prefetch(hashes);
    filter->Add(hashes, outcomes);
  }
  return filter;
}

void PrintRow(core::FilterType type, uint64_t bytes, uint64_t part) {
  constexpr uint64_t kBitsPerItem = 10;
  core::MemoryBudget budget;
  const uint64_t capacity = bytes * 8 / kBitsPerItem;
  const core::FilterPtr filter = MakeFilled(type, capacity, budget);
  const rusage before = ThreadUse();
  const auto fold = core::FilterFold::Begin(filter, {capacity / part}, budget).value();
  fold->Run();
  const core::Status status = fold->TakeOver();
  const rusage after = ThreadUse();
  std::printf("%-8s to 1/%-2lu  %6.3f s + %6.3f s   %11lu -> %11lu bytes%s\n",
              std::string(core::FilterTypeName(type)).c_str(), part, Seconds(after.ru_utime) - Seconds(before.ru_utime),
              Seconds(after.ru_stime) - Seconds(before.ru_stime), filter->size_bytes(), fold->folded()->size_bytes(),
              status ? "" : " refused");
  std::fflush(stdout);
}

}  // namespace
}  // namespace bitsieve

int main(int argc, char** argv) {
  CLI::App app{"Measures how long folding takes."};
  uint64_t bytes = uint64_t{1} << 30;
  app.add_option("--bytes", bytes);
  CLI11_PARSE(app, argc, argv);
  for (const bitsieve::core::FilterType type : {bitsieve::core::kBlockedType, bitsieve::core::kClassicType}) {
    for (const uint64_t part : {2, 3, 4, 6, 8, 12}) bitsieve::PrintRow(type, bytes, part);
  }
}
