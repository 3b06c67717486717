#include "server/process_control.h"

namespace bitsieve::server {

SnapshotStatus ProcessControl::Snapshot() const {
  const SnapshotterStatus status = snapshotter_.Status();
  return {.last_save_unix_s = status.last_save_unix_s,
          .in_progress = status.in_progress,
          .last_ok = status.last_ok,
          .changes_since_last_save = status.changes_since_last_save,
          .last_duration_ms = status.last_duration_ms};
}

}  // namespace bitsieve::server
