// active_segment.h: the segment that pending records are written to, its syncs, and its replacement by the next one.
//
// A sync, and the making of a segment, are jobs: they run concurrently with the writing, one at a time. Until a job
// ends, the segment stays the same and is appended to.
//
//   kPrepare (syncs the segment, makes the next one) ---> SwitchToNext ---> kName (makes its name durable)
//
// While a segment is made, records go to the previous one; those past the new one's start are written again to it
// before it gets its name. So a kill loses only what is not written.
//
// After an error, Abandon forgets the segment. What is not durable is then written to another one, which begins where
// the last durable record ends.
//
// Confined to the log's thread, except for written(), synced() and TakeLongestSyncMs().
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/log/log_job.h"
#include "server/persistence/log/log_segment.h"
#include "server/persistence/log/pending_records.h"

namespace bitsieve::server {

class ActiveSegment {
 public:
  using Clock = std::chrono::steady_clock;

  // The log is written and synced up to where `pending` begins; a segment is made when there is something to write. The
  // references outlive it. A job's thread calls `on_job_end`.
  ActiveSegment(DataDirectory& directory, PendingRecords& pending, std::function<void()> on_job_end);

  // Returns the position up to which all is written, and the one up to which the log survives a power failure: that is
  // below the beginning of what is pending only if DropWritten was called after the last sync.
  uint64_t written() const { return written_.load(std::memory_order_acquire); }
  uint64_t synced() const { return synced_.load(std::memory_order_acquire); }
  // Returns the duration of the longest sync since the last call.
  uint64_t TakeLongestSyncMs() { return longest_sync_ms_.exchange(0, std::memory_order_relaxed); }

  // Writes all pending records. Afterwards there is a segment, if something that was written is not synced.
  core::Status WritePending();
  // Returns once all that was written is synced, and every segment that is to begin has begun. WritePending() was
  // called before.
  core::Status Sync();
  // Begins a sync of all that was written. There is a segment, and no job is under way.
  core::Status BeginSync();
  // Ends the job that is done, if there is one, and begins to make the next segment if no job is under way then. All is
  // written.
  core::Status ContinueJobs();
  bool HasJob() const { return job_.has_begun(); }
  // Drops pending records that are written, though they are not synced.
  void DropWritten() { pending_.DropBefore(WrittenForGood()); }
  void Abandon();

  // Returns when the oldest record was written of those that are not synced.
  Clock::time_point oldest_unsynced() const { return oldest_unsynced_; }
  // Returns whether the segment begins at or after this position, and no power failure takes it away.
  bool IsDurableFrom(uint64_t position) const;

 private:
  enum class Job : uint8_t {
    kSync,     // of the segment
    kPrepare,  // of the segment, and the making of the next one
    kName,     // makes that one's name durable; and a sync of it
  };
  core::Status Open();
  core::Status BeginNext();
  core::Status SwitchToNext();
  core::Status BeginJob(Job job);
  core::Status Perform(Job job);
  core::Status EndJob(const core::Status& outcome);
  core::Status EndJobs();
  core::Status SyncFile();
  void RaiseSynced(uint64_t position);
  uint64_t WrittenForGood() const;

  DataDirectory& directory_;
  PendingRecords& pending_;
  const std::function<void()> on_job_end_;

  // These two are changed by the log's thread.
  std::atomic<uint64_t> written_;
  std::atomic<uint64_t> synced_;
  std::atomic<uint64_t> longest_sync_ms_{0};  // relaxed: reported on its own

  std::unique_ptr<LogSegmentWriter> segment_;
  std::unique_ptr<LogSegmentWriter> next_;  // made by a job
  std::string last_path_;                   // of the last segment
  Clock::time_point oldest_unsynced_;

  Job kind_ = Job::kSync;  // of job_
  uint64_t job_end_ = 0;   // what was written up to here it makes durable
  Clock::time_point job_since_;
  LogJob job_;  // last: it uses all of the above
};

}  // namespace bitsieve::server
