#include "server/stats/command_stats.h"

#include <numeric>

#include "server/stats/stats.h"

namespace bitsieve::server {

void CommandCounters::AddCalls(uint64_t count, uint64_t all_ns) {
  LoopStats::Add(calls, count);
  LoopStats::Add(ns, all_ns);
  LoopStats::Add(latency[LatencyBuckets::Of(all_ns / count)], count);
}

void CommandCounters::Reset() {
  for (std::atomic<uint64_t>* counter : {&calls, &ns, &rejected, &failed}) counter->store(0, std::memory_order_relaxed);
  for (std::atomic<uint64_t>& bucket : latency) bucket.store(0, std::memory_order_relaxed);
}

void CommandStats::Reset() {
  for (size_t i = 0; i < size_; ++i) counters_[i].Reset();
}

double CommandTotals::PercentileNs(double percent) const {
  const auto counted = static_cast<double>(std::accumulate(latency.begin(), latency.end(), uint64_t{0}));
  double left = counted * percent / 100;
  if (counted == 0) return 0;
  for (size_t i = 0; i < LatencyBuckets::kBounds; ++i) {
    const auto upper = static_cast<double>(LatencyBuckets::UpperBoundNs(i));
    const double lower = i == 0 ? 0 : upper / 2;
    const auto count = static_cast<double>(latency[i]);
    if (count > 0 && left <= count) return lower + (upper - lower) * std::max(left, 0.0) / count;
    left -= count;
  }
  return static_cast<double>(LatencyBuckets::UpperBoundNs(LatencyBuckets::kBounds - 1));
}

CommandTotals TotalsOf(const ServerStats& stats, size_t command) {
  CommandTotals totals;
  for (const LoopStats& loop : stats.loops) {
    if (command >= loop.by_command.size()) continue;
    const CommandCounters& counters = loop.by_command[command];
    totals.calls += counters.calls.load(std::memory_order_relaxed);
    totals.ns += counters.ns.load(std::memory_order_relaxed);
    totals.rejected += counters.rejected.load(std::memory_order_relaxed);
    totals.failed += counters.failed.load(std::memory_order_relaxed);
    for (size_t i = 0; i < totals.latency.size(); ++i) {
      totals.latency[i] += counters.latency[i].load(std::memory_order_relaxed);
    }
  }
  return totals;
}

}  // namespace bitsieve::server
