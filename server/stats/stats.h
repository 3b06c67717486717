// stats.h: counters of what the server did, one set per loop so that counting costs no shared cache line. Each has a
// row in server/metrics/metric_table.cc, which adds them up. LoopStats: written by its loop alone, read by all
// (relaxed: each is reported on its own). ServerStats: thread-safe once built.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

#include "commands/command.h"
#include "commands/error_counts.h"
#include "server/stats/command_stats.h"
#include "server/stats/rates.h"
#include "server/stats/round_times.h"

namespace bitsieve::server {

struct alignas(64) LoopStats {
  std::atomic<uint64_t> commands{0};
  std::atomic<uint64_t> connections_accepted{0};
  std::atomic<uint64_t> connections_rejected{0};  // by maxclients or protected-mode
  std::atomic<uint64_t> tls_connections_accepted{0};
  std::atomic<uint64_t> tls_handshakes_failed{0};
  std::atomic<uint64_t> input_bytes{0};
  std::atomic<uint64_t> output_bytes{0};
  std::atomic<uint64_t> lookup_hits{0};  // items answered "probably there"
  std::atomic<uint64_t> lookup_misses{0};
  std::atomic<uint64_t> items_added{0};
  std::atomic<uint64_t> error_replies{0};
  std::atomic<uint64_t> protocol_errors{0};
  CommandStats by_command;  // made before the loop starts
  commands::ErrorCounts error_codes;
  RoundTimes rounds;

  // For the one writer: cheaper than an atomic addition.
  static void Add(std::atomic<uint64_t>& counter, uint64_t amount) {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
};

// 40 hexadecimal digits.
std::string RandomHexId();

struct ServerStats {
  std::deque<LoopStats> loops;  // one per loop, filled before the loops start
  int64_t started_unix_ms = 0;
  // Random at each start.
  const std::string run_id = RandomHexId();
  const std::string replication_id = RandomHexId();
  Rates rates;
  uint16_t port = 0;
  // When the filters began to be loaded; 0 as soon as they are. Relaxed: access to filters synchronises through the
  // keyspace's locks.
  std::atomic<int64_t> loading_since_unix_s{0};
  bool Loading() const { return loading_since_unix_s.load(std::memory_order_relaxed) != 0; }
  // The keyspace counts expired names from its start on; this many of them are no longer reported.
  std::atomic<uint64_t> expired_before_reset{0};
  // Notes what the counters are now; to be called at Rates::kInterval.
  void SampleRates(int64_t monotonic_ms);
  uint64_t Sum(std::atomic<uint64_t> LoopStats::*counter) const;
};

// Adds what a batch did, and starts counting again from 0.
void Publish(commands::Tally& tally, LoopStats& stats);

}  // namespace bitsieve::server
