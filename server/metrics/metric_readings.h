// metric_readings.h: what several metrics read, gathered when the first of them asks, so that the rows of a report
// agree.
// Thread-compatible.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>

#include "server/dispatch/environment.h"
#include "server/dispatch/server_control.h"
#include "server/keyspace/keyspace.h"
#include "server/stats/stats.h"

namespace bitsieve::server {

struct FilterTotals {
  uint64_t size_bytes = 0, filters = 0, sub_filters = 0, items = 0, capacity = 0;
};

class MetricReadings {
 public:
  explicit MetricReadings(const Environment& server) : server_(server) {}

  const Environment& server() const { return server_; }
  int64_t uptime_s();
  uint64_t resident_bytes();
  uint64_t used_bytes();
  uint64_t name_bytes();  // of these, what names take besides their letters
  const Rates::Totals& rates();
  const SnapshotStatus& snapshot();
  const LogStatus& log();
  int64_t loading_since_unix_s();
  const rusage& usage();
  // Looks at every filter, unless they were given.
  const FilterTotals& totals();
  void set_totals(const FilterTotals& totals) { totals_ = totals; }

 private:
  const Environment& server_;
  std::optional<int64_t> uptime_s_;
  std::optional<uint64_t> resident_bytes_;
  std::optional<uint64_t> used_bytes_;
  std::optional<uint64_t> name_bytes_;
  std::optional<Rates::Totals> rates_;
  std::optional<SnapshotStatus> snapshot_;
  std::optional<LogStatus> log_;
  std::optional<int64_t> loading_since_unix_s_;
  std::optional<rusage> usage_;
  std::optional<FilterTotals> totals_;
};

}  // namespace bitsieve::server
