// Prints what happens in filters at constant load: as many items leave as are added, until all have been replaced so
// many times.
//
//   turnover_bench [--items N] [--rate R] [--turnovers N] [--lookups N]
//
// The rows are a cuckoo filter from which the oldest items are removed, and expiring filters with epochs of 4 and of 8
// bits under a clock that is turned by hand. They show nanoseconds of processor time per addition, once the filter is
// full, and the longest batch of 64 additions; then, in the middle of an epoch, what the lookups of items within their
// time find and what those of absent items find; and the same times at the beginning of an epoch in which nothing was
// added yet. Every item is looked up that is within its time: none may be missing.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>

#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/expiring/expiring_type.h"
#include "core/filter/filter_factory.h"
#include "tests/support/key_source.h"
#include "tests/support/manual_clock.h"

namespace bitsieve {
namespace {

using core::KeyHash;

constexpr size_t kBatch = 64;
constexpr uint64_t kAbsent = uint64_t{1} << 40;  // items from here on are never added
constexpr int64_t kTtlMs = 14'000'000;           // epochs of 1000 s

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

KeyHash HashOf(uint64_t item) { return {test::Mix(2 * item + 1), test::Mix(2 * item + 0x9E3779B97F4A7C15ULL)}; }

struct Lookups {
  double ns = 0;
  uint64_t found = 0;
};

class Turnover {
 public:
  Turnover(core::FilterParams params, uint64_t items, double turnovers)
      : items_(items / kBatch * kBatch), turnovers_(turnovers), removes_(params.type == core::kCuckooType) {
    params.capacity = items;
    params.expansion = 0;
    core::ShareForStatedCapacity(params);
    filter_ = std::move(*core::MakeFilter(params, budget_, clock_));
  }

  void Run() {
    const int64_t begin_ms = clock_.now_ms;
    const auto end = static_cast<uint64_t>(turnovers_ * static_cast<double>(items_)) / kBatch * kBatch;
    while (next_ < end) {
      clock_.now_ms = begin_ms + static_cast<int64_t>(static_cast<double>(kTtlMs) * static_cast<double>(next_) /
                                                      static_cast<double>(items_));
      if (removes_ && next_ >= items_) Remove(next_ - items_);
      AddBatch();
    }
  }
  void NextEpoch() { clock_.now_ms = (clock_.now_ms / (kTtlMs / 14) + 1) * (kTtlMs / 14); }

  // The items within their time, or as many absent ones as stated.
  Lookups Present() const { return LookUp(next_ - items_ + kBatch, items_ - kBatch); }
  Lookups Absent(uint64_t lookups) const { return LookUp(kAbsent, lookups); }

  double ns_per_add() const { return add_s_ * 1e9 / static_cast<double>(timed_); }
  double longest_batch_us() const { return longest_s_ * 1e6; }
  uint64_t refused() const { return refused_; }
  const core::Filter& filter() const { return *filter_; }

 private:
  void AddBatch() {
    std::array<KeyHash, kBatch> hashes;
    std::array<core::AddOutcome, kBatch> outcomes;
    for (KeyHash& hash : hashes) hash = HashOf(next_++);
    const double begin = ThreadSeconds();
    filter_->Prefetch(hashes);
    const size_t done = filter_->Add(hashes, outcomes);
    const double seconds = ThreadSeconds() - begin;
    for (size_t i = 0; i < kBatch; ++i) refused_ += i >= done || core::IsRefused(outcomes[i]);
    if (next_ <= items_) return;
    add_s_ += seconds;
    timed_ += kBatch;
    longest_s_ = std::max(longest_s_, seconds);
  }
  void Remove(uint64_t first) {
    std::array<KeyHash, kBatch> hashes;
    std::array<uint8_t, kBatch> removed;
    for (size_t i = 0; i < kBatch; ++i) hashes[i] = HashOf(first + i);
    filter_->Remove(hashes, removed);
  }
  Lookups LookUp(uint64_t first, uint64_t count) const {
    std::array<KeyHash, kBatch> hashes;
    std::array<uint8_t, kBatch> present;
    Lookups lookups;
    const double begin = ThreadSeconds();
    for (uint64_t done = 0; done < count; done += kBatch) {
      for (size_t i = 0; i < kBatch; ++i) hashes[i] = HashOf(first + done + i);
      filter_->Prefetch(hashes);
      filter_->MayContain(hashes, present);
      for (const uint8_t each : present) lookups.found += each;
    }
    lookups.ns = (ThreadSeconds() - begin) * 1e9 / static_cast<double>(count);
    return lookups;
  }

  const uint64_t items_;
  const double turnovers_;
  const bool removes_;
  core::MemoryBudget budget_;
  test::ManualClock clock_;
  std::unique_ptr<core::Filter> filter_;
  uint64_t next_ = 0;
  uint64_t refused_ = 0;
  uint64_t timed_ = 0;  // additions
  double add_s_ = 0;
  double longest_s_ = 0;
};

void PrintRow(const std::string& name, const core::FilterParams& params, uint64_t items, double turnovers,
              uint64_t lookups) {
  Turnover turnover(params, items, turnovers);
  turnover.Run();
  const uint64_t expected = items / kBatch * kBatch - kBatch;
  const Lookups present = turnover.Present();
  const Lookups absent = turnover.Absent(lookups);
  turnover.NextEpoch();
  const Lookups later = turnover.Present();
  std::printf("| %s | %.1f | %.0f | %llu | %u | %llu | %.1f | %.1f | %.3f (%llu) | %.1f |\n", name.c_str(),
              turnover.ns_per_add(), turnover.longest_batch_us(), static_cast<unsigned long long>(turnover.refused()),
              turnover.filter().SubFilters(), static_cast<unsigned long long>(expected - present.found), present.ns,
              absent.ns, static_cast<double>(absent.found) / static_cast<double>(lookups) / params.error_rate,
              static_cast<unsigned long long>(absent.found), later.ns);
}

}  // namespace
}  // namespace bitsieve

int main(int argc, char** argv) {
  using namespace bitsieve;
  CLI::App program("Prints a table of filters at constant load.");
  uint64_t items = 1'000'000, lookups = 10'000'000;
  double rate = 0.01, turnovers = 4;
  program.add_option("--items", items, "items that are in a filter at a time")->check(CLI::Range(1000, 1 << 30));
  program.add_option("--rate", rate, "requested error rate");
  program.add_option("--turnovers", turnovers, "how often all items are replaced")->check(CLI::Range(1.0, 1e6));
  program.add_option("--lookups", lookups, "lookups of absent items");
  CLI11_PARSE(program, argc, argv);
  lookups = lookups / kBatch * kBatch;
  turnovers += 0.5 / 14;  // to the middle of an epoch
  std::printf("%llu items, replaced %.1f times, at a requested error rate of %g\n\n",
              static_cast<unsigned long long>(items), turnovers, rate);
  std::printf(
      "| type | ns/add | longest batch, us | refused | sub-filters | missing | ns/found | ns/absent | rate "
      "measured/requested (found) | ns/found in a new epoch |\n|---|---|---|---|---|---|---|---|---|---|\n");
  core::FilterParams cuckoo{.type = core::kCuckooType, .error_rate = rate};
  PrintRow("cuckoo", cuckoo, items, turnovers, lookups);
  for (const uint64_t bits : core::kEpochBitsChoices) {
    core::FilterParams expiring{.type = core::kExpiringType, .error_rate = rate};
    core::SetTtlMs(expiring, kTtlMs);
    expiring.own.Set(core::kEpochBits, bits);
    PrintRow("expiring, " + std::to_string(bits) + " bits", expiring, items, turnovers, lookups);
  }
  return 0;
}
