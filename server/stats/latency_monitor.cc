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
  History& history = histories_[static_cast<size_t>(event)];
  history.longest_ms = std::max(history.longest_ms, ms);
  if (!history.samples.empty() && history.samples.back().unix_s == unix_s) {
    history.samples.back().ms = std::max(history.samples.back().ms, ms);
    return;
  }
  history.samples.push_back({unix_s, ms});
  if (history.samples.size() > kMaxSamples) history.samples.pop_front();
}

LatencyMonitor::History LatencyMonitor::Of(LatencyEvent event) const {
  const core::LockGuard lock(mutex_);
  return histories_[static_cast<size_t>(event)];
}

bool LatencyMonitor::Reset(LatencyEvent event) {
  const core::LockGuard lock(mutex_);
  return !std::exchange(histories_[static_cast<size_t>(event)], {}).samples.empty();
}

}  // namespace bitsieve::server
