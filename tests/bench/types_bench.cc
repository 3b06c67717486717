// Prints a table of every filter type: memory, measured error rate, and the time of a lookup and of an addition.
//
//   types_bench [--items N] [--rates R,R,...] [--types NAME,NAME,...] [--rounds N]
//
// A filter that does not grow is made for N items and filled with them. The table shows: bits per item, of all memory
// that the filter takes; the measured share of absent items that are found, in units of the requested rate, and how
// many were found; and nanoseconds of processor time of this thread per addition of a new item, per lookup of an item
// that is there and of one that is not, in batches of 64 with prefetching, as the server does it. Times are the medians
// of the rounds. A type that can be frozen is measured frozen, and building is a part of adding. Times include the
// making of the hashes, about 2 ns, but not the hashing of an item's bytes.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"
#include "core/filter/staging.h"
#include "tests/support/filter_types.h"
#include "tests/support/key_source.h"

namespace bitsieve {
namespace {

using core::FilterType;
using core::KeyHash;

constexpr size_t kBatch = 64;
constexpr uint64_t kAbsent = uint64_t{1} << 40;  // items from here on are never added

struct Times {
  std::vector<double> add, found, absent;
};
struct Row {
  double bits_per_item = 0;
  uint64_t wrong = 0;
  double measured_rate = 0;
  Times times;
};

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Calls use(hashes) for batches of the items [first, first + count); returns nanoseconds per item.
template <class Use>
double Time(uint64_t first, uint64_t count, const Use& use) {
  std::array<KeyHash, kBatch> hashes;
  const double begin = ThreadSeconds();
  for (uint64_t done = 0; done < count; done += kBatch) {
    const size_t size = std::min<uint64_t>(kBatch, count - done);
    for (size_t i = 0; i < size; ++i) {
      const uint64_t item = test::Mix(first + done + i + 1);
      hashes[i] = {item, test::Mix(item ^ 0x9E3779B97F4A7C15ULL)};
    }
    use(std::span<const KeyHash>(hashes.data(), size));
  }
  return (ThreadSeconds() - begin) * 1e9 / static_cast<double>(count);
}

double TimeAdding(core::Filter& filter, uint64_t items) {
  std::array<core::AddOutcome, kBatch> outcomes;
  bool refused = false;
  const double ns = Time(0, items, [&](std::span<const KeyHash> hashes) {
    filter.Prefetch(hashes);
    const size_t done = filter.Add(hashes, outcomes);
    refused |= done < hashes.size() || outcomes[done - 1] > core::AddOutcome::kAdded;
  });
  if (!refused) return ns;
  std::fprintf(stderr, "types_bench: a filter refused an item before it was full\n");
  std::exit(1);
}

struct Lookups {
  double ns;
  uint64_t found;
};

// Items in an order of their own, so that one lookup does not follow the other's addition.
Lookups TimeLooking(const core::Filter& filter, uint64_t first, uint64_t count) {
  std::array<uint8_t, kBatch> present;
  uint64_t found = 0;
  const double ns = Time(first, count, [&](std::span<const KeyHash> hashes) {
    filter.Prefetch(hashes);
    filter.MayContain(hashes, std::span(present.data(), hashes.size()));
    for (size_t i = 0; i < hashes.size(); ++i) found += present[i];
  });
  return {ns, found};
}

core::FilterParams ParamsOf(FilterType type, double rate, uint64_t items) {
  core::FilterParams params;
  params.type = type;
  params.error_rate = rate;
  params.capacity = items;
  params.expansion = 0;
  params.seed = 1;
  test::SetRequiredParams(params);
  // Some items find no room long before it is full, so that it must be able to grow; and its rate is what it is.
  if (type == core::kRedisCuckooType) {
    core::SetRedisCuckooParams(params, {2, 20});
    params.expansion = 1;
  }
  core::ShareForStatedCapacity(params);
  return params;
}

// Puts the frozen filter in the place of one that collects, and returns what that took for each item.
double TimeFreezing(std::unique_ptr<core::Filter>& filter, uint64_t items, core::MemoryBudget& budget) {
  core::Staging* const staging = filter->staging();
  if (staging == nullptr) return 0;
  const double begin = ThreadSeconds();
  filter = std::move(staging->Build(budget, [] { return true; }).value());
  return (ThreadSeconds() - begin) * 1e9 / static_cast<double>(items);
}

void Measure(core::Filter& filter, uint64_t items, double rate, Row& row) {
  const uint64_t some = std::min<uint64_t>(items, 10'000'000);
  const Lookups found = TimeLooking(filter, 0, some);
  if (found.found != some) {
    std::fprintf(stderr, "types_bench: %zu items are missing\n", static_cast<size_t>(some - found.found));
    std::exit(1);
  }
  row.times.found.push_back(found.ns);
  const auto probes = static_cast<uint64_t>(std::max(1e7, 30 / rate));
  const Lookups absent = TimeLooking(filter, kAbsent + row.times.absent.size() * probes, probes);
  row.times.absent.push_back(absent.ns);
  row.wrong += absent.found;
  row.measured_rate = static_cast<double>(row.wrong) / static_cast<double>(probes * row.times.absent.size());
  row.bits_per_item = static_cast<double>(filter.Info().size_bytes) * 8 / static_cast<double>(items);
}

// Nothing if the type cannot have such a rate; the reason is printed.
bool MeasureType(FilterType type, double rate, uint64_t items, int rounds, Row& row) {
  core::MemoryBudget budget;
  for (int round = 0; round < rounds; ++round) {
    auto filter = core::MakeFilter(ParamsOf(type, rate, items), budget, core::SystemClock());
    if (!filter) {
      std::printf("| %s | %g | %s |\n", std::string(core::FilterTypeName(type)).c_str(), rate,
                  filter.error().message.c_str());
      return false;
    }
    row.times.add.push_back(TimeAdding(**filter, items) + TimeFreezing(*filter, items, budget));
    Measure(**filter, items, rate, row);
  }
  return true;
}

void Print(FilterType type, double rate, const Row& row) {
  std::printf("| %s | %g | %.2f | %.3f (%zu) | %.1f | %.1f | %.1f |\n", std::string(core::FilterTypeName(type)).c_str(),
              rate, row.bits_per_item, row.measured_rate / rate, static_cast<size_t>(row.wrong), Median(row.times.add),
              Median(row.times.found), Median(row.times.absent));
  std::fflush(stdout);
}

void PrintHead(uint64_t items) {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  std::printf("%zu items; load of the machine before: %.2f\n\n", static_cast<size_t>(items), load);
  std::printf("| type | rate asked | bits/item | rate measured/asked (found) | ns/add | ns/found | ns/absent |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
}

std::vector<FilterType> KindsOf(const std::vector<std::string>& names) {
  std::vector<FilterType> types;
  for (const core::FilterTypeRow* row : core::FilterTypes()) {
    if (names.empty() || std::find(names.begin(), names.end(), row->name) != names.end()) types.push_back(row->type);
  }
  return types;
}

int Run(int argc, char** argv) {
  CLI::App app("Prints a table of every filter type: memory, measured error rate, and times.");
  uint64_t items = 1'000'000;
  std::vector<double> rates{0.01, 0.001, 0.0001, 0.000001};
  std::vector<std::string> names;
  int rounds = 3;
  app.add_option("--items", items, "what the filters are made for and hold")->check(CLI::Range(1UL, 1UL << 30));
  app.add_option("--rates", rates, "error rates asked")->delimiter(',');
  app.add_option("--types", names, "types; all if not given")->delimiter(',');
  app.add_option("--rounds", rounds, "rounds to take medians of")->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  PrintHead(items);
  for (const FilterType type : KindsOf(names)) {
    for (const double rate : rates) {
      Row row;
      if (MeasureType(type, rate, items, rounds, row)) Print(type, rate, row);
    }
  }
  return 0;
}

}  // namespace
}  // namespace bitsieve

int main(int argc, char** argv) { return bitsieve::Run(argc, argv); }
