// sampler.h: what is looked at ten times a second: the counters, for rates; how long the disk took, for LATENCY;
// whether there were slow commands, for a line in the log at most once a minute; and some filters, for warnings.
// Confined to its context's thread; what it is given outlives it.
#pragma once

#include <spdlog/spdlog.h>

#include <asio/io_context.hpp>
#include <cstdint>
#include <string>

#include "core/base/clock.h"
#include "server/dispatch/monitoring.h"
#include "server/keyspace/filter_watch.h"
#include "server/process/periodic.h"
#include "server/stats/stats.h"
#include "server/storage.h"

namespace bitsieve::server {

class Sampler {
 public:
  Sampler(asio::io_context& context, const core::Clock& clock, ServerStats& stats, Monitoring& monitoring,
          Storage& storage, const Keyspace& keyspace)
      : clock_(clock),
        stats_(stats),
        monitoring_(monitoring),
        storage_(storage),
        filters_(keyspace, [](const std::string& line) { spdlog::warn("{}", line); }),
        timer_(context, Rates::kInterval, [this] { Sample(); }) {}
  void Start() { timer_.Start(); }

 private:
  void Sample();
  void SampleDisk();
  void LogSlowCommands(int64_t now_ms);

  const core::Clock& clock_;
  ServerStats& stats_;
  Monitoring& monitoring_;
  Storage& storage_;
  FilterWatch filters_;
  int64_t last_save_unix_s_ = 0;
  int64_t next_summary_ms_ = 0;
  Periodic timer_;
};

}  // namespace bitsieve::server
