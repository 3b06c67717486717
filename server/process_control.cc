#include "server/process_control.h"

namespace bitsieve::server {

void ProcessControl::Save(std::function<void(core::Status)> done) {
  if (Snapshotter* const snapshotter = snapshotter_) return snapshotter->Save(std::move(done));
  done(core::Fail(core::ErrorCode::kIo, "the filters are not loaded yet"));
}

SnapshotStatus ProcessControl::Snapshot() const {
  const Snapshotter* const snapshotter = snapshotter_;
  if (snapshotter == nullptr) return {.last_save_unix_s = started_unix_s_};
  const SnapshotterStatus status = snapshotter->Status();
  return {.last_save_unix_s = status.last_save_unix_s,
          .in_progress = status.in_progress,
          .last_ok = status.last_ok,
          .changes_since_last_save = status.changes_since_last_save,
          .last_duration_ms = status.last_duration_ms};
}

}  // namespace bitsieve::server
