// monitoring.h: what an operator sees of single commands: the slow log, the latency events and MONITOR, and which
// commands are worth a note. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "commands/command.h"
#include "server/pubsub/monitor_feed.h"
#include "server/stats/latency_monitor.h"
#include "server/stats/slow_log.h"

namespace bitsieve::server {

class ClientRecord;

// So much of a command is shown.
struct ShownLimits {
  size_t arguments;
  size_t bytes;  // of each
};

// The arguments, cut to the limits as Redis does; those of a row with kSecret are not shown. With the note that so many
// further commands ran together with this one.
std::vector<std::string> ShownArguments(const commands::CommandRow& row, commands::Arguments arguments,
                                        const ShownLimits& limits, uint64_t further = 0);

class Monitoring {
 public:
  SlowLog slow_log;
  LatencyMonitor latency;
  MonitorFeed feed;

  // Microseconds from which on a command is slow; below 0: none is.
  void set_slower_than_us(int64_t us) { slower_than_us_.store(us, std::memory_order_relaxed); }
  int64_t slower_than_us() const { return slower_than_us_.load(std::memory_order_relaxed); }
  // Commands that took at least so long are to be passed to RecordSlow().
  uint64_t NotableNs() const {
    constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
    const int64_t slow_us = slower_than_us();
    const uint64_t latency_ms = latency.threshold_ms();
    return std::min(slow_us < 0 ? kNever : static_cast<uint64_t>(slow_us) * 1000,
                    latency_ms == 0 ? kNever : latency_ms * 1'000'000);
  }
  // Whether quick commands must be timed one by one to find those that are slow.
  bool TimesEach() const {
    constexpr int64_t kLeastSharedUs = 1000;
    const int64_t us = slower_than_us();
    return us >= 0 && us < kLeastSharedUs;
  }

  // These two drop what there is no memory for.

  // `further`: commands like it that ran together with it, and took `ns` together.
  void RecordSlow(const commands::CommandRow& row, commands::Arguments arguments, uint64_t further,
                  const ClientRecord& client, uint64_t ns) noexcept;
  // A round of an event loop has ended.
  void RecordRound(int64_t ns) noexcept {
    const uint64_t threshold_ms = latency.threshold_ms();
    if (threshold_ms != 0 && ns >= static_cast<int64_t>(threshold_ms) * 1'000'000) RecordLongRound(ns);
  }
  // Shows a command that is about to run to the monitors.
  void Show(const commands::CommandRow& row, commands::Arguments arguments, const ClientRecord& client) noexcept;
  // One line about the slow commands since the last call; empty if there were none.
  std::string SlowSummary();

 private:
  void RecordLongRound(int64_t ns) noexcept;

  std::atomic<int64_t> slower_than_us_{-1};  // relaxed: an option
};

}  // namespace bitsieve::server
