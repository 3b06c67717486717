// command_stats.h: what each command did and how long it took, one set per loop so that counting costs no shared cache
// line. A command is known by its index in the CommandTable. Read off them: INFO commandstats and latencystats, LATENCY
// HISTOGRAM, and the histograms of the admin port.
// CommandStats: written only by its loop, read by all (relaxed: each number is reported on its own). CommandTotals:
// thread-compatible values.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace bitsieve::server {

struct ServerStats;

// Durations are counted in buckets whose upper bounds, which are included, are powers of two: 32 ns, 64 ns ... 69 s.
// The last bucket has no bound.
struct LatencyBuckets {
  static constexpr size_t kBounds = 32;
  static constexpr size_t kCount = kBounds + 1;

  static constexpr uint64_t UpperBoundNs(size_t bucket) { return uint64_t{1} << (bucket + kFirstBit); }
  static constexpr size_t Of(uint64_t ns) {
    const auto bits = static_cast<size_t>(std::bit_width(ns == 0 ? 0 : ns - 1));
    return std::clamp(bits, kFirstBit, kFirstBit + kBounds) - kFirstBit;
  }

 private:
  static constexpr size_t kFirstBit = 5;
};

struct CommandCounters {
  std::atomic<uint64_t> calls{0};     // that ran
  std::atomic<uint64_t> ns{0};        // that these took together
  std::atomic<uint64_t> rejected{0};  // refused before they ran
  std::atomic<uint64_t> failed{0};    // of the calls: replied to with an error
  std::array<std::atomic<uint64_t>, LatencyBuckets::kCount> latency{};

  // Counts `count` calls that took `all_ns` together, an equal share each. For the one writer.
  void AddCalls(uint64_t count, uint64_t all_ns);
  void Reset();
};

class CommandStats {
 public:
  CommandStats() = default;  // of no commands: nothing may be counted
  explicit CommandStats(size_t commands) : counters_(new CommandCounters[commands]), size_(commands) {}

  size_t size() const { return size_; }
  CommandCounters& operator[](size_t command) { return counters_[command]; }
  const CommandCounters& operator[](size_t command) const { return counters_[command]; }
  void Reset();

 private:
  std::unique_ptr<CommandCounters[]> counters_;
  size_t size_ = 0;
};

// The counters of one command, summed over all loops.
struct CommandTotals {
  uint64_t calls = 0;
  uint64_t ns = 0;
  uint64_t rejected = 0;
  uint64_t failed = 0;
  std::array<uint64_t, LatencyBuckets::kCount> latency = {};

  // Returns the duration that `percent` percent of the calls did not exceed, as exactly as the buckets have it: between
  // the bounds of a bucket, calls are taken to be spread evenly. 0 if there were none.
  double PercentileNs(double percent) const;
};
CommandTotals TotalsOf(const ServerStats& stats, size_t command);

}  // namespace bitsieve::server
