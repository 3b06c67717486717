// log_writer.h: the thread that writes the log. It takes all records that were appended since the last time, writes
// them as one frame, and syncs them by policy. So the changes of many clients cost one write and one sync.
//
//   AppendedRecords ---> PendingRecords ---> written (a frame in the ActiveSegment) ---> durable (synced)
//
// Policy      kAlways: every frame is synced at once, and callers that await a position are notified when it is
//             durable. kEverySecond: synced so that no unsynced record is older than a second. kNever: the system
//             decides when to write.
// Stalls      a sync, the making of a segment and the removal of old ones run concurrently with the writing and do
//             not hold it up. If the disk stalls the writing anyway, AwaitedPosition makes replies wait, so that
//             nothing more is acknowledged.
// Trouble     when the disk or the memory refuses, nothing is given up: what is not durable stays in memory, and the
//             thread keeps trying to write it to a new segment. Until that succeeds (InTrouble), callers should append
//             little.
// Memory      of what waits: kMaxWaitingBytes, beyond which AwaitedPosition makes writers wait, plus what they had
//             under way.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/log/active_segment.h"
#include "server/persistence/log/appended_records.h"
#include "server/persistence/log/log_record.h"
#include "server/persistence/log/log_removal.h"
#include "server/persistence/log/pending_records.h"

namespace bitsieve::server {

enum class FsyncPolicy : uint8_t { kAlways, kEverySecond, kNever };

struct LogWriterStatus {
  uint64_t position = 0;            // after all that was appended
  uint64_t durable_position = 0;    // up to here nothing can be lost; with kNever: written
  uint64_t waiting_bytes = 0;       // appended, not yet written
  uint64_t segment_bytes = 0;       // of records in the segments since the last snapshot
  int64_t oldest_unwritten_ms = 0;  // since the oldest change was appended that is not written; 0: all are
  std::string trouble;              // empty: none
};

class LogWriter {
 public:
  static constexpr uint64_t kMaxWaitingBytes = 64 << 20;
  // Replies wait while a change older than this is not written.
  static constexpr int64_t kMaxUnwrittenMs = 50;

  // The log continues at `start`, whose segment is made when there is something to write. All references outlive
  // the writer. `filter_files`: those that records before `start` refer to.
  LogWriter(DataDirectory& directory, const core::Clock& clock, FsyncPolicy policy, uint64_t start,
            const std::vector<log::FilterFile>& filter_files = {});
  // Calls Stop.
  ~LogWriter();

  // Takes what is to be logged. Callers leave the functions that are for the log's thread alone.
  AppendedRecords& appended() { return appended_; }
  const AppendedRecords& appended() const { return appended_; }

  // Returns the position up to which the log survives a power failure.
  uint64_t synced_end() const { return segment_.synced(); }
  // Returns once all before `position`, which appended().end() returned, is synced, under any policy: the sync is not
  // left to its time. kIo: the log is in trouble.
  core::Status SyncUpTo(uint64_t position);
  // Requests the removal of segments and files before `position`, which BeginSegment returned: they are no longer
  // needed.
  void RemoveBefore(uint64_t position);

  void SetPolicy(FsyncPolicy policy);
  bool InTrouble() const { return in_trouble_.load(std::memory_order_acquire); }
  // Returns why the disk, or the memory, refused the last time: also when it does no more, for those who have just seen
  // InTrouble().
  std::string Trouble() const;
  LogWriterStatus Status() const;
  // Returns the duration of the longest sync since the last call.
  uint64_t TakeLongestSyncMs() { return segment_.TakeLongestSyncMs(); }
  // server/session/durability.h describes both.
  uint64_t AwaitedPosition() const;
  void Await(uint64_t position, std::function<void()> reached);

  // Writes and syncs what is there, once, and ends the thread. An error means that something could not be made durable.
  // Callbacks for positions that were not reached are not called.
  core::Status Stop();

 private:
  using Clock = std::chrono::steady_clock;

  struct Waiter {
    uint64_t position;
    std::function<void()> reached;
  };

  void Wake();
  void RequestWrite();
  FsyncPolicy policy() const { return policy_.load(std::memory_order_relaxed); }
  bool IsReached(uint64_t position) const;

  // The thread.
  void Run();
  core::Status Turn(bool last);
  // Waits until there is something to do. Returns true if it is the last time.
  bool WaitForWork();
  // Waits until something is appended, a write is requested, or a deadline passes.
  void SleepUntilNeeded() BITSIEVE_REQUIRES(mutex_);
  std::optional<Clock::time_point> SyncDue() const;
  core::Status SyncByPolicy();
  void Fail(const core::Error& error);
  void RecoverFromError();
  void RemoveObsolete();
  void NotifyReached();
  // Gives back what a burst of changes, or of a slow disk, took, if it is time to look.
  void GiveBackMemory();

  std::atomic<FsyncPolicy> policy_;      // relaxed: seen late, one batch goes by the old one
  std::atomic<bool> in_trouble_{false};  // released after the text; a change let through late is kept with the others
  std::atomic<uint64_t> sync_up_to_{0};  // by SyncUpTo; relaxed: RequestWrite follows the change

  mutable core::Mutex mutex_;
  core::ConditionVariable wake_;
  bool write_requested_ BITSIEVE_GUARDED_BY(mutex_) = false;  // a caller waits for what is there
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::list<Waiter> waiters_ BITSIEVE_GUARDED_BY(mutex_);
  uint64_t remove_before_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  std::string trouble_ BITSIEVE_GUARDED_BY(mutex_);  // the latest; it stays

  AppendedRecords appended_;
  PendingRecords pending_;
  ActiveSegment segment_;
  LogRemoval removal_;

  // Used only by the thread.
  Clock::time_point retry_at_;
  std::optional<Clock::time_point> notify_at_;  // when to retry a notification that failed
  Clock::time_point give_back_at_;              // when to look for memory to give back
  core::Status last_outcome_;                   // read once the thread was joined

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bitsieve::server
