#include "server/metrics/metric_readings.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "server/dispatch/server_control.h"
#include "server/process/resident_memory.h"
#include "server/stats/stats.h"

namespace bitsieve::server {

using namespace commands;

namespace {

FilterTotals TotalsOf(const Keyspace& keyspace) {
  std::vector<FilterPtr> filters;
  uint64_t cursor = 0;
  do {
    cursor = keyspace.Scan(cursor, std::numeric_limits<uint64_t>::max(),
                           [&](std::string_view, const FilterPtr& filter) { filters.push_back(filter); });
  } while (cursor != 0);

  FilterTotals totals{.filters = filters.size()};
  for (const FilterPtr& filter : filters) {
    const core::FilterInfo info = filter->Info();
    totals.size_bytes += info.size_bytes;
    totals.sub_filters += info.sub_filters;
    totals.items += info.items;
    totals.capacity += info.capacity;
  }
  return totals;
}

// Returns what was read before, or reads it now.
template <class Reading, class Read>
const Reading& Once(std::optional<Reading>& reading, Read read) {
  if (!reading) reading = read();
  return *reading;
}

}  // namespace

int64_t MetricReadings::uptime_s() {
  return Once(uptime_s_,
              [this] { return std::max<int64_t>(0, server_.clock->WallMs() - server_.stats->started_unix_ms) / 1000; });
}
uint64_t MetricReadings::resident_bytes() { return Once(resident_bytes_, ResidentBytes); }
uint64_t MetricReadings::used_bytes() {
  return Once(used_bytes_, [this] { return server_.keyspace->memory().used_bytes(); });
}
uint64_t MetricReadings::name_bytes() {
  return Once(name_bytes_, [this] { return std::min(used_bytes(), server_.keyspace->Size() * kNameOverheadBytes); });
}
const Rates::Totals& MetricReadings::rates() {
  return Once(rates_, [this] { return server_.stats->rates.PerSecond(); });
}
const SnapshotStatus& MetricReadings::snapshot() {
  return Once(snapshot_, [this] { return server_.control->Snapshot(); });
}
const LogStatus& MetricReadings::log() {
  return Once(log_, [this] { return server_.control->Log(); });
}
int64_t MetricReadings::loading_since_unix_s() {
  return Once(loading_since_unix_s_,
              [this] { return server_.stats->loading_since_unix_s.load(std::memory_order_relaxed); });
}
const rusage& MetricReadings::usage() {
  return Once(usage_, [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage;
  });
}
const FilterTotals& MetricReadings::totals() {
  return Once(totals_, [this] { return TotalsOf(*server_.keyspace); });
}

}  // namespace bitsieve::server
