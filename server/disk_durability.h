// disk_durability.h: what commands and connections ask of the disk, answered by the log, or without one by the
// snapshots: then changes are refused while those fail, since nothing else would keep what is acknowledged.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/commands/durability.h"
#include "server/persistence/log_writer.h"
#include "server/persistence/snapshotter.h"

namespace bitsieve::server {

class DiskDurability final : public Durability {
 public:
  // Both outlive it; `log` is null if there is none.
  DiskDurability(LogWriter* log, const Snapshotter& snapshotter) : log_(log), snapshotter_(snapshotter) {}

  bool InTrouble() const override { return log_ != nullptr ? log_->InTrouble() : snapshotter_.InTrouble(); }
  std::string Trouble() const override { return log_ != nullptr ? log_->Status().trouble : snapshotter_.Trouble(); }
  uint64_t AwaitedPosition() const override { return log_ != nullptr ? log_->AwaitedPosition() : 0; }
  void Await(uint64_t position, std::function<void()> reached) override {
    if (log_ != nullptr) return log_->Await(position, std::move(reached));
    reached();
  }

 private:
  LogWriter* const log_;
  const Snapshotter& snapshotter_;
};

}  // namespace bitsieve::server
