// process_control.h: what commands may ask of the process, passed on to those who do it. Snapshots are made once the
// filters are loaded: until then their status is that of a start, and asking for one fails.
// Thread-safe. What it is given outlives it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/wall_clock.h"
#include "server/commands/server_control.h"
#include "server/keyspace/freezer.h"
#include "server/persistence/snapshotter.h"
#include "server/run_time_options.h"

namespace bitsieve::server {

class ProcessControl final : public ServerControl {
 public:
  // `shutdown` begins the stop and returns at once; any thread may call it.
  ProcessControl(Freezer& freezer, RunTimeOptions& options, std::function<void(bool save)> shutdown)
      : freezer_(freezer), options_(options), shutdown_(std::move(shutdown)) {}

  void SetSnapshotter(Snapshotter& snapshotter) { snapshotter_ = &snapshotter; }

  void Save(std::function<void(core::Status)> done) override;
  SnapshotStatus Snapshot() const override;
  LogStatus Log() const override { return {}; }
  void Freeze(std::string_view name, const std::shared_ptr<core::Filter>& closed) override {
    freezer_.Freeze(name, closed);
  }
  void Shutdown(bool save) override { shutdown_(save); }
  std::vector<std::pair<std::string, std::string>> GetOptions(std::string_view glob) const override {
    return options_.Match(glob);
  }
  core::Status SetOption(std::string_view name, std::string_view value) override { return options_.Set(name, value); }

 private:
  const int64_t started_unix_s_ = core::CoarseUnixMs() / 1000;
  std::atomic<Snapshotter*> snapshotter_{nullptr};
  Freezer& freezer_;
  RunTimeOptions& options_;
  const std::function<void(bool save)> shutdown_;
};

}  // namespace bitsieve::server
