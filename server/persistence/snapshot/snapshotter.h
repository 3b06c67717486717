// snapshotter.h: the thread that makes snapshots: at intervals if something changed, on request, and once more at the
// end if required. It logs what it did. A failed snapshot is logged as an error with file and reason, leaves the
// previous one intact, and is retried after some seconds.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "server/persistence/snapshot/snapshot_writer.h"

namespace bitsieve::server {

struct SnapshotterStatus {
  int64_t last_save_unix_s = 0;  // of the last complete snapshot; the start counts as one
  bool in_progress = false;
  bool last_ok = true;
  uint64_t changes_since_last_save = 0;
  int64_t last_duration_ms = -1;  // of the last attempt; -1: none was made yet
};

// Determines when snapshots are made without a request.
struct SnapshotSchedule {
  std::chrono::seconds interval{0};  // if something changed; 0: never for that
  uint64_t max_log_bytes = 0;        // when the log that a start needs is longer; 0: never for that
  uint32_t growth_percent = 0;       // as SnapshotWriter::Save has it, for those of the interval

  bool any() const { return interval.count() != 0 || max_log_bytes != 0; }
};

class Snapshotter {
 public:
  using Done = std::function<void(core::Status)>;

  Snapshotter(const SnapshotParts& parts, SavedState saved, const SnapshotSchedule& schedule);
  // Calls Stop(false).
  ~Snapshotter();

  // Requests a snapshot of everything there is at the time of the call. If one is running, another is made after it,
  // and all requests made in between share that one. `done` is called once, from another thread, and must not block;
  // after a Stop it gets an error, at once and in this thread.
  void Save(Done done);
  // Sets the schedule. The interval counts from the last attempt: a shorter one may be due at once.
  void SetSchedule(const SnapshotSchedule& schedule);
  // Returns the status; its number of changes is SnapshotWriter::ChangesAtMost.
  SnapshotterStatus Status() const;
  // Returns whether the last snapshot failed while snapshots were scheduled. Costs one load.
  bool InTrouble() const { return in_trouble_.load(std::memory_order_relaxed); }
  // Returns why the last snapshot failed; empty if it did not.
  std::string Trouble() const;
  // Ends the thread once a running snapshot is finished, after a last one if `final_save`; returns that one's outcome.
  // With a `timeout`, what is not saved by then is left to the log, which is no error. Requests still waiting get the
  // outcome of the last one, or an error if there is none. Only the first call counts.
  core::Status Stop(bool final_save, std::optional<std::chrono::seconds> timeout = {});

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  std::optional<Clock::time_point> NextAttempt() const BITSIEVE_REQUIRES(mutex_);
  bool LogIsLong() const BITSIEVE_REQUIRES(mutex_);
  void RecordReport(const core::Result<SaveReport>& report) BITSIEVE_REQUIRES(mutex_);
  // Waits until there is a request, the interval is over, the log is too long, or it is time to end.
  void WaitForWork() BITSIEVE_REQUIRES(mutex_);
  // The reason for a snapshot.
  enum class Reason : uint8_t { kInterval, kLongLog, kRequest, kStop };
  core::Status SaveOnce(Reason reason);
  core::Status SaveOrOutOfMemory(Reason reason);
  core::Status SaveAtTheEnd();
  core::Result<SaveReport> Write(Reason reason);

  SnapshotWriter writer_;  // ChangesAtMost for all; the rest is the thread's
  const core::Clock& clock_;
  uint64_t filters_in_log_ = 0;  // of the thread: after the last snapshot, as SaveReport has it

  mutable core::Mutex mutex_;
  core::ConditionVariable wake_;
  SnapshotSchedule schedule_ BITSIEVE_GUARDED_BY(mutex_);
  Clock::time_point last_attempt_ BITSIEVE_GUARDED_BY(mutex_);
  std::vector<Done> waiting_ BITSIEVE_GUARDED_BY(mutex_);
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  bool final_save_ BITSIEVE_GUARDED_BY(mutex_) = false;
  bool has_timeout_ BITSIEVE_GUARDED_BY(mutex_) = false;
  core::Status final_outcome_ BITSIEVE_GUARDED_BY(mutex_);
  SnapshotterStatus status_ BITSIEVE_GUARDED_BY(mutex_);  // except for the number of changes
  std::string trouble_ BITSIEVE_GUARDED_BY(mutex_);       // why the last one failed
  std::atomic<bool> in_trouble_{false};                   // relaxed: a change let through late is in the next snapshot

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bitsieve::server
