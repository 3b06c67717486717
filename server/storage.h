// storage.h: what the server keeps on its disk, from one end to the other: the data directory, the loading of its
// content, then the log and the snapshots. It only connects these; server/persistence does the work.
//
// Order: Open, Load, Begin, Stop. Everything else may be called from any thread at any time: before Begin there is no
// log yet and no snapshot, and nothing may be changed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/options.h"
#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "server/dispatch/server_control.h"
#include "server/keyspace/freezer.h"
#include "server/keyspace/registry.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/log/keyspace_recorder.h"
#include "server/persistence/log/log_writer.h"
#include "server/persistence/recovery/recovery.h"
#include "server/persistence/snapshot/snapshotter.h"
#include "server/session/durability.h"

namespace bitsieve::server {

class Storage final : public Durability {
 public:
  // All outlive it; the clock of filters outlives the registry's filters, too.
  Storage(Disk& disk, Registry& registry, const core::Clock& clock, core::FilterClock& filter_clock, Freezer& freezer)
      : disk_(disk), registry_(registry), clock_(clock), filter_clock_(filter_clock), freezer_(freezer) {}
  ~Storage() override;

  // Makes the directory if need be, and keeps other servers out of it.
  core::Status Open(const std::string& path);
  // Fills the registry. Run it on a thread of its own if clients wait at the same time.
  core::Result<Recovery> Load(const config::Options& options);
  // Continues from there: changes are logged from now on, and saved.
  core::Status Begin(Recovery recovery, const config::Options& options);
  // Options that may change while it runs.
  void Apply(const config::Options& options);
  // Nothing may be changed any more. Makes a last snapshot if requested, with a log only as far as shutdown-timeout
  // allows, and writes the log to its end.
  core::Status Stop(bool final_save);

  // See ServerControl.
  void Save(std::function<void(core::Status)> done);
  SnapshotStatus Snapshot() const;
  LogStatus Log() const;
  // See KeyspaceRecorder: content of filters that the log lacks, for lack of memory.
  bool HasUnkeptRewrites() const;
  void KeepRewrites();
  // Returns the longest sync of the log since the last call; 0 without a log.
  uint64_t TakeLongestSyncMs() { return HasLog() ? log_->TakeLongestSyncMs() : 0; }

  // Without a log, snapshots are all that keeps what is acknowledged: nothing may be changed while they fail.
  bool InTrouble() const override;
  std::string Trouble() const override;
  uint64_t AwaitedPosition() const override { return HasLog() ? log_->AwaitedPosition() : 0; }
  void Await(uint64_t position, std::function<void()> reached) override;
  bool HasLog() const override { return HasBegun() && log_ != nullptr; }
  uint64_t End() const override { return HasLog() ? log_->appended().end() : 0; }
  bool IsSynced(uint64_t position) const override {
    return HasLog() && syncs_.load(std::memory_order_relaxed) && log_->synced_end() >= position;
  }

 private:
  bool HasBegun() const { return begun_.load(std::memory_order_acquire); }
  void BeginLog(const Recovery& recovery, const config::Options& options);
  void SetPolicy(const config::Options& options);
  std::string TroubleOfRecorder() const;
  core::Status SaveNow(const std::string& what);
  void FreezeAgain(const Recovery& recovery);

  Disk& disk_;
  Registry& registry_;
  const core::Clock& clock_;
  core::FilterClock& filter_clock_;
  Freezer& freezer_;
  const int64_t started_unix_s_ = clock_.WallMs() / 1000;

  core::MemoryBudget image_memory_;  // of what changes while a filter is being written
  std::unique_ptr<DataDirectory> directory_;
  // Set by Begin, before begun_ is released; constant from then on.
  std::unique_ptr<FileIds> file_ids_;
  std::unique_ptr<LogWriter> log_;              // null: there is none
  std::unique_ptr<KeyspaceRecorder> recorder_;  // made by Load, if there is to be a log
  std::unique_ptr<Snapshotter> snapshotter_;
  std::atomic<std::chrono::seconds> shutdown_timeout_{};
  std::atomic<bool> begun_{false};
  std::atomic<bool> syncs_{false};  // appendfsync is not no; relaxed: seen late, one WAITAOF goes by the old one
};

}  // namespace bitsieve::server
