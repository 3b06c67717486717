#include "server/stats/latency_monitor.h"

#include <algorithm>
#include <utility>

#include "commands/argument_reader.h"

namespace bitsieve::server {

using namespace commands;

std::optional<LatencyEvent> LatencyMonitor::Find(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (EqualsIgnoringCase(kNames[i], name)) return static_cast<LatencyEvent>(i);
  }
  return std::nullopt;
}

void LatencyMonitor::Record(LatencyEvent event, int64_t unix_s, uint64_t ms) {
  const uint64_t threshold = threshold_ms();
  if (threshold == 0 || ms < threshold) return;
  const core::LockGuard lock(mutex_);
  Times& times = times_[static_cast<size_t>(event)];
  times.last_ms = times.last_unix_s == unix_s ? std::max(times.last_ms, ms) : ms;
  times.last_unix_s = unix_s;
  times.longest_ms = std::max(times.longest_ms, ms);
}

LatencyMonitor::Times LatencyMonitor::Of(LatencyEvent event) const {
  const core::LockGuard lock(mutex_);
  return times_[static_cast<size_t>(event)];
}

bool LatencyMonitor::Reset(LatencyEvent event) {
  const core::LockGuard lock(mutex_);
  return std::exchange(times_[static_cast<size_t>(event)], {}).longest_ms != 0;
}

}  // namespace bitsieve::server
