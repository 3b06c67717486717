// Prints what happens when several loops add to one filter, whose writers exclude each other a batch at a time.
//
//   contention_bench [--seconds S] [--rounds N] [--rest-ns N] [--single-rest-ns N] [--threads N,N,...]
//                    [--busy N]
//
// Each thread does what an event loop does: it adds or looks up a batch, then works on something else for as long as a
// server needs for the rest of the commands. That work is a number of steps, not a time, so that a thread that was put
// to sleep does not take its sleep for work. "no rest" leaves it out: then the lock is all there is, and two threads on
// two cores show what a batch costs while cache lines go back and forth. The filters are blocked, for 10^6 items at
// 1%, for 10^4 each where there are many, and nearly full; they have every item that is added. "logged" has a listener
// that takes each of them, as a log does in memory. "4 stripes" is not what the server does: four filters stand for
// four parts of one, each with a lock of its own, and each batch is divided among them. --busy adds threads that only
// compute, so that the holder of a lock is put to sleep by others than those that wait for it.
//
// Medians of the rounds, in each of which every line is measured once:
//   items/s   of all threads
//   cores     that the process had: fewer than both threads and cores means that others had them, or that threads slept
//   call      nanoseconds of one call of Add or MayContain, waiting included
//   held      share of the time in which the filter's lock is held, also while its holder sleeps; summed over filters
//   waiting   share of the threads' time in Add without the lock; includes waiting for a core
// Of all rounds together:
//   longest   call, and time for which the lock was held, in microseconds
//   late      calls that took longer than a millisecond, per second
// The last lines show at how many loops the lock limits additions of batches: the rate of two threads without rest over
// that of one with rest.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "commands/item_lookup.h"
#include "core/base/spin_lock.h"
#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/log/log_record.h"
#include "tests/support/key_source.h"

namespace bitsieve {
namespace {

using core::KeyHash;
using Nanoseconds = int64_t;

constexpr uint64_t kItems = 1'000'000;
constexpr uint64_t kItemsOfMany = 10'000;
constexpr size_t kMany = 1000;
constexpr size_t kStripes = 4;
constexpr size_t kBatch = 100;                   // items of a command
constexpr size_t kChunk = commands::kItemChunk;  // items of a call: commands are cut into chunks
constexpr Nanoseconds kLate = 1'000'000;

Nanoseconds Now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns the CPU time of all threads of this process.
Nanoseconds ProcessCpu() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// How often something was done and how long it took.
struct Spans {
  uint64_t count = 0;
  Nanoseconds total = 0;
  Nanoseconds longest = 0;
  uint64_t late = 0;

  void Add(Nanoseconds took) {
    ++count;
    total += took;
    longest = std::max(longest, took);
    late += took > kLate ? 1 : 0;
  }
  void Add(const Spans& other) {
    count += other.count;
    total += other.total;
    longest = std::max(longest, other.longest);
    late += other.late;
  }
};

// Takes changes as a log does, in memory; they are not read. Thread-safe.
class DiscardedLog final : public core::ChangeListener {
 public:
  bool Reserve(size_t) noexcept override { return true; }
  void Release(size_t) noexcept override {}
  void OnChange(const core::Change& change, size_t) noexcept override {
    const core::LockGuard lock(lock_);
    if (records_.size() > kKeptBytes) records_.clear();
    server::log::Encode(change, records_);
  }

 private:
  static constexpr size_t kKeptBytes = 1 << 20;

  core::SpinLock lock_;
  std::string records_ BITSIEVE_GUARDED_BY(lock_);
};

// A filter that notes how long its lock is held by additions. They are passed on to another filter, whose own lock no
// other thread takes.
class WatchedFilter final : public core::Filter {
 public:
  WatchedFilter(std::unique_ptr<core::Filter> filter, core::MemoryBudget& memory)
      : Filter(filter->params(), memory), filter_(std::move(filter)) {}

  // Must not be called while a thread adds.
  Spans held() const {
    const core::LockGuard lock(writers());
    return held_;
  }

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override {
    filter_->MayContain(hashes, present);
  }
  uint64_t ItemCount() const override { return filter_->ItemCount(); }
  uint64_t ChangeCount() const override { return filter_->ChangeCount(); }
  core::FilterInfo Info() const override { return filter_->Info(); }
  uint64_t size_bytes() const override { return filter_->size_bytes(); }
  std::optional<double> EstimatedErrorRate() const override { return filter_->EstimatedErrorRate(); }
  std::optional<core::FilterUse> Use() const override { return filter_->Use(); }

 protected:
  core::UseCounters* use_counters() override { return nullptr; }
  void PrefetchLines(std::span<const KeyHash> hashes) const override { filter_->Prefetch(hashes); }
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<core::AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers()) {
    const Nanoseconds begin = Now();
    const size_t done = filter_->Add(hashes, outcomes);
    held_.Add(Now() - begin);
    return done;
  }
  std::unique_ptr<core::FilterImage> DoCapture(const core::ImagePool& pool) const override
      BITSIEVE_REQUIRES(writers()) {
    return filter_->Capture(pool);
  }

 private:
  const std::unique_ptr<core::Filter> filter_;
  Spans held_ BITSIEVE_GUARDED_BY(writers());
};

struct Settings {
  double seconds = 0.5;
  int rounds = 3;
  Nanoseconds rest_ns = 1500;
  Nanoseconds single_rest_ns = 6500;
  std::vector<unsigned> threads{1, 2, 4, 8};
  unsigned busy = 0;
};

struct Workload {
  std::string name;
  size_t batch = kBatch;
  size_t filters = 1;
  Nanoseconds rest_ns = 0;
  bool looks_up = false;
  bool logged = false;
  bool striped = false;  // the filters are the stripes of one

  // Without rest the lock itself is measured, so that nothing else should happen while it is held.
  bool IsWatched() const { return rest_ns != 0 && !looks_up; }
};

struct Figures {
  double items_per_second = 0;
  double cores = 0;
  double call_ns = 0;
  double held = 0;
  double waiting = 0;
  Nanoseconds longest_call = 0, longest_held = 0;
  double late_per_second = 0;
};

// Does steps of work that depend on each other.
uint64_t Work(uint64_t steps, uint64_t value) {
  for (; steps != 0; --steps) value = test::Mix(value + 1);
  return value;
}

uint64_t StepsOf(Nanoseconds ns) {
  static const double steps_per_ns = [] {
    constexpr uint64_t kSteps = 20'000'000;
    const Nanoseconds begin = Now();
    const uint64_t result = Work(kSteps, 1);
    // The condition is never true; it keeps the compiler from leaving out the work.
    return static_cast<double>(kSteps + (result == 0 ? 1 : 0)) / static_cast<double>(Now() - begin);
  }();
  return static_cast<uint64_t>(steps_per_ns * static_cast<double>(ns));
}

std::unique_ptr<core::Filter> MakeFilter(uint64_t items, core::MemoryBudget& budget) {
  core::FilterParams params;
  params.type = core::kBlockedType;
  params.error_rate = 0.01;
  params.capacity = items;
  params.expansion = 0;
  params.seed = 1;
  return std::move(core::MakeFilter(params, budget, core::SystemClock()).value());
}

// Items [0, items) are random, and a full filter has them.
KeyHash HashOf(uint64_t item) {
  const uint64_t mixed = test::Mix(item + 1);
  return {mixed, test::Mix(mixed ^ 0x9E3779B97F4A7C15ULL)};
}

size_t StripeOf(const KeyHash& hash) { return hash.low % kStripes; }

// The filters of a workload, which the threads of a run share.
class Filters {
 public:
  explicit Filters(const Workload& workload) : items_(workload.filters == kMany ? kItemsOfMany : kItems) {
    for (size_t i = 0; i < workload.filters; ++i) {
      auto filter = MakeFilter(workload.striped ? items_ / kStripes : items_, budget_);
      for (uint64_t item = 0; item < items_ * 9 / 10; ++item) {
        const KeyHash hash = HashOf(item);
        if (workload.striped && StripeOf(hash) != i) continue;
        core::AddOutcome outcome;
        filter->Add({&hash, 1}, {&outcome, 1});
      }
      if (workload.logged) {
        filter->Attach(&log_, 1, 0);
        // The rewritten content is never kept, and until it is, items that are already there are reported, too.
        filter->CaptureRewritten({budget_, core::Patience::kLose});
      }
      if (workload.IsWatched()) {
        auto watched = std::make_unique<WatchedFilter>(std::move(filter), budget_);
        watched_.push_back(watched.get());
        filter = std::move(watched);
      }
      filters_.push_back(std::move(filter));
    }
  }

  core::Filter& PickFilter(uint64_t random) { return *filters_[random % filters_.size()]; }
  core::Filter& Stripe(size_t number) { return *filters_[number]; }
  KeyHash PickItem(uint64_t random) const { return HashOf(random % (items_ * 9 / 10)); }
  Spans held() const {
    Spans all;
    for (const WatchedFilter* filter : watched_) all.Add(filter->held());
    return all;
  }

 private:
  const uint64_t items_;
  core::MemoryBudget budget_;
  DiscardedLog log_;
  std::vector<std::unique_ptr<core::Filter>> filters_;
  std::vector<const WatchedFilter*> watched_;
};

class Loop {
 public:
  Loop(const Workload& workload, Filters& filters, uint64_t seed)
      : workload_(workload), filters_(filters), rest_steps_(StepsOf(workload.rest_ns)), random_(seed << 40) {}

  void Run(const std::atomic<bool>& stop) {
    while (!stop.load(std::memory_order_relaxed)) {
      core::Filter& filter = filters_.PickFilter(Random());
      for (size_t done = 0; done < workload_.batch; done += kChunk) {
        RunChunk(filter, std::min(kChunk, workload_.batch - done));
      }
      items_ += workload_.batch;
      random_ += Work(rest_steps_, random_) & 1;
    }
  }
  const Spans& calls() const { return calls_; }
  uint64_t items() const { return items_; }

 private:
  uint64_t Random() { return test::Mix(++random_); }

  void RunChunk(core::Filter& filter, size_t size) {
    std::array<KeyHash, kChunk> hashes;
    for (size_t i = 0; i < size; ++i) hashes[i] = filters_.PickItem(Random());
    const std::span<const KeyHash> chunk(hashes.data(), size);
    const Nanoseconds begin = Now();
    if (workload_.looks_up) {
      std::array<uint8_t, kChunk> present;
      filter.MayContain(chunk, std::span(present.data(), size));
    } else if (workload_.striped) {
      AddStriped(chunk);
    } else {
      std::array<core::AddOutcome, kChunk> outcomes;
      filter.Add(chunk, std::span(outcomes.data(), size));
    }
    calls_.Add(Now() - begin);
  }

  // Adds each stripe's items, without putting the outcomes back in order.
  void AddStriped(std::span<const KeyHash> hashes) {
    std::array<std::array<KeyHash, kChunk>, kStripes> parts;
    std::array<size_t, kStripes> sizes{};
    for (const KeyHash& hash : hashes) {
      const size_t stripe = StripeOf(hash);
      parts[stripe][sizes[stripe]++] = hash;
    }
    std::array<core::AddOutcome, kChunk> outcomes;
    const uint64_t first = Random();  // so that loops do not meet at each
    for (size_t i = 0; i < kStripes; ++i) {
      const size_t stripe = (first + i) % kStripes;
      filters_.Stripe(stripe).Add(std::span(parts[stripe]).first(sizes[stripe]),
                                  std::span(outcomes).first(sizes[stripe]));
    }
  }

  const Workload& workload_;
  Filters& filters_;
  const uint64_t rest_steps_;
  uint64_t random_;
  Spans calls_;
  uint64_t items_ = 0;
};

void KeepBusy(const std::atomic<bool>& stop) {
  for (uint64_t value = 1; !stop.load(std::memory_order_relaxed) && value != 0;) value = Work(1000, value);
}

Figures Measure(const Settings& settings, const Workload& workload, unsigned threads) {
  Filters filters(workload);
  std::vector<Loop> loops;
  for (unsigned i = 0; i < threads; ++i) loops.emplace_back(workload, filters, i + 1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> running;
  const Nanoseconds begin = Now();
  const Nanoseconds cpu_begin = ProcessCpu();
  for (Loop& loop : loops) running.emplace_back([&loop, &stop] { loop.Run(stop); });
  for (unsigned i = 0; i < settings.busy; ++i) running.emplace_back([&stop] { KeepBusy(stop); });
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.seconds));
  stop = true;
  for (std::thread& thread : running) thread.join();
  const auto wall_ns = static_cast<double>(Now() - begin);

  Spans calls;
  uint64_t items = 0;
  for (const Loop& loop : loops) {
    calls.Add(loop.calls());
    items += loop.items();
  }
  const Spans held = filters.held();
  Figures figures;
  figures.items_per_second = static_cast<double>(items) * 1e9 / wall_ns;
  figures.cores = static_cast<double>(ProcessCpu() - cpu_begin) / wall_ns;
  figures.call_ns = static_cast<double>(calls.total) / static_cast<double>(calls.count);
  figures.held = static_cast<double>(held.total) / wall_ns;
  figures.waiting = held.count == 0 ? 0 : static_cast<double>(calls.total - held.total) / wall_ns / threads;
  figures.longest_call = calls.longest;
  figures.longest_held = held.longest;
  figures.late_per_second = static_cast<double>(calls.late) * 1e9 / wall_ns;
  return figures;
}

Figures MediansOf(const std::vector<Figures>& rounds) {
  Figures all = rounds.front();
  for (const auto member : {&Figures::items_per_second, &Figures::cores, &Figures::call_ns, &Figures::held,
                            &Figures::waiting, &Figures::late_per_second}) {
    std::vector<double> values;
    for (const Figures& each : rounds) values.push_back(each.*member);
    std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
    all.*member = values[values.size() / 2];
  }
  for (const Figures& each : rounds) {
    all.longest_call = std::max(all.longest_call, each.longest_call);
    all.longest_held = std::max(all.longest_held, each.longest_held);
  }
  return all;
}

std::vector<Workload> WorkloadsOf(const Settings& settings) {
  return {{.name = "one filter, 100", .rest_ns = settings.rest_ns},
          {.name = "one filter, 100, logged", .rest_ns = settings.rest_ns, .logged = true},
          {.name = "one filter, 100, 4 stripes", .filters = kStripes, .rest_ns = settings.rest_ns, .striped = true},
          {.name = "one filter, single", .batch = 1, .rest_ns = settings.single_rest_ns},
          {.name = "many filters, 100", .filters = kMany, .rest_ns = settings.rest_ns},
          {.name = "look up 100", .rest_ns = settings.rest_ns, .looks_up = true},
          {.name = "no rest, 100"},
          {.name = "no rest, 100, logged", .logged = true},
          {.name = "no rest, 100, 4 stripes", .filters = kStripes, .striped = true}};
}

void Print(const Workload& workload, unsigned threads, const Figures& figures) {
  const auto us = [](Nanoseconds ns) { return static_cast<double>(ns) / 1e3; };
  std::printf("| %-26s | %u | %6.2f | %4.2f | %7.0f | ", workload.name.c_str(), threads, figures.items_per_second / 1e6,
              figures.cores, figures.call_ns);
  if (workload.IsWatched()) {
    std::printf("%4.1f%% | %4.1f%% | %6.0f | %6.0f", figures.held * 100, figures.waiting * 100,
                us(figures.longest_call), us(figures.longest_held));
  } else {
    std::printf("      |       | %6.0f |       ", us(figures.longest_call));
  }
  std::printf(" | %5.1f |\n", figures.late_per_second);
}

void PrintHead() {
  double load = 0;
  std::ifstream("/proc/loadavg") >> load;
  std::printf("%u cores; load of the machine before: %.2f\n\n", std::thread::hardware_concurrency(), load);
  std::printf(
      "| workload | threads | million items/s | cores | ns per call | held | waiting | longest call, us | longest "
      "held, us | late/s |\n|---|---|---|---|---|---|---|---|---|---|\n");
}

// Items per second, by workload and threads.
using Rates = std::map<std::pair<std::string, unsigned>, double>;

void PrintLimit(const Rates& rates, const std::string& variant) {
  const auto loop = rates.find({"one filter, 100" + variant, 1});
  const auto lock = rates.find({"no rest, 100" + variant, 2});
  if (loop == rates.end() || lock == rates.end()) return;
  std::printf("one filter, 100%s: the lock is enough for %.1f loops\n", variant.c_str(), lock->second / loop->second);
}

int Run(int argc, char** argv) {
  CLI::App app("Prints what happens when several loops add to one filter.");
  Settings settings;
  app.add_option("--seconds", settings.seconds, "of one run")->check(CLI::Range(0.01, 60.0));
  app.add_option("--rounds", settings.rounds, "rounds to take medians of")->check(CLI::Range(1, 100));
  app.add_option("--rest-ns", settings.rest_ns, "of a loop, for each batch, besides adding");
  app.add_option("--single-rest-ns", settings.single_rest_ns, "the same for one command per round trip");
  app.add_option("--threads", settings.threads, "numbers of threads")->delimiter(',')->check(CLI::Range(1, 256));
  app.add_option("--busy", settings.busy, "threads that compute beside the loops");
  CLI11_PARSE(app, argc, argv);
  PrintHead();
  const std::vector<Workload> workloads = WorkloadsOf(settings);
  std::map<std::pair<std::string, unsigned>, std::vector<Figures>> measured;
  for (int round = 0; round < settings.rounds; ++round) {
    for (const Workload& workload : workloads) {
      for (const unsigned threads : settings.threads) {
        measured[{workload.name, threads}].push_back(Measure(settings, workload, threads));
      }
    }
  }
  Rates rates;
  for (const Workload& workload : workloads) {
    for (const unsigned threads : settings.threads) {
      const Figures figures = MediansOf(measured[{workload.name, threads}]);
      Print(workload, threads, figures);
      rates[{workload.name, threads}] = figures.items_per_second;
    }
  }
  std::printf("\n");
  for (const char* variant : {"", ", logged"}) PrintLimit(rates, variant);
  return 0;
}

}  // namespace
}  // namespace bitsieve

int main(int argc, char** argv) { return bitsieve::Run(argc, argv); }
