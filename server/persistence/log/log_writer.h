// log_writer.h: the thread that writes the log. A thread that changes something appends a record of it, in memory; the
// log's thread takes all that has accumulated and writes it as one frame. So the changes of many clients cost one write
// and one sync.
//
//   appended ---> waiting ---> written (a frame in the segment) ---> durable (synced)
//
// Policy      kAlways: every frame is synced at once, and callers that await a position are notified when it is
//             durable. kEverySecond: synced so that no unsynced record is older than a second. kNever: the system
//             decides when to write.
// Segments    a sync, the making of a segment and the removal of old ones run concurrently with the writing and do
//             not hold it up: a killed process loses only what is not written. While a segment is made, records go to
//             the previous one; those past the new one's beginning are written again to it before it gets its name. If
//             the disk stalls the writing anyway, AwaitedPosition makes replies wait, so that nothing more is
//             acknowledged.
// Trouble     when the disk or the memory refuses, nothing is given up: what is not durable stays in memory, and the
//             thread keeps trying to write it to a new segment, which begins where the last durable one ends. Until
//             that succeeds (InTrouble), callers should append little.
// Memory      of what waits: kMaxWaitingBytes, beyond which AwaitedPosition makes writers wait, plus what they had
//             under way. Room for a record is reserved before its change is made, so appending it cannot fail. A
//             reservation is one addition to a counter as long as the buffer has room; it grows by doubling, and never
//             has less room than is reserved.
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/spin_lock.h"
#include "core/memory/image_part.h"
#include "server/keyspace/keyspace.h"
#include "server/persistence/disk/data_directory.h"
#include "server/persistence/disk/file_ids.h"
#include "server/persistence/log/log_record.h"
#include "server/persistence/log/log_segment.h"

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

// A filter file that a record of the log refers to.
struct LogImageFile {
  uint64_t position;  // of the record
  uint64_t file_id;
};

class LogWriter {
 public:
  static constexpr uint64_t kMaxWaitingBytes = 64 << 20;
  // Replies wait while a change older than this is not written.
  static constexpr int64_t kMaxUnwrittenMs = 50;

  // The log continues at `start`, whose segment is made when there is something to write. All references outlive
  // the writer. `image_files`: those that records before `start` refer to.
  LogWriter(DataDirectory& directory, FileIds& file_ids, const core::ImagePool& image_pool, const core::Clock& clock,
            FsyncPolicy policy, uint64_t start, const std::vector<LogImageFile>& image_files = {});
  // Calls Stop.
  ~LogWriter();

  class Entry;
  // Appends one record. May throw std::bad_alloc.
  void Append(const log::Record& record);

  // Returns false if memory is refused. What is reserved is either appended or released.
  [[nodiscard]] bool Reserve(size_t bytes) noexcept;
  void Release(size_t bytes) noexcept;
  // Ends a reservation of `reserved` bytes, which are at least log::MaxChangeBytes of the change.
  void Append(const core::Change& change, size_t reserved) noexcept;
  // Returns the position after all that was appended.
  uint64_t end() const { return end_.load(std::memory_order_acquire); }
  // Returns the position up to which the log survives a power failure.
  uint64_t synced_end() const { return synced_.load(std::memory_order_acquire); }

  // Begins a new segment for what is appended from now on. Returns the position where it begins.
  uint64_t BeginSegment();
  // Returns once all before `position`, which end() returned, is synced, under any policy: the sync is not left to its
  // time. kIo: the log is in trouble.
  core::Status SyncUpTo(uint64_t position);
  // Requests the removal of segments and files before `position`, which BeginSegment returned: they are no longer
  // needed.
  void RemoveBefore(uint64_t position);

  void SetPolicy(FsyncPolicy policy);
  DataDirectory& directory() const { return directory_; }
  FileIds& file_ids() const { return file_ids_; }
  const core::ImagePool& image_pool() const { return image_pool_; }
  bool InTrouble() const { return in_trouble_.load(std::memory_order_relaxed); }
  LogWriterStatus Status() const;
  // Returns the duration of the longest sync since the last call.
  uint64_t TakeLongestSyncMs() { return longest_sync_ms_.exchange(0, std::memory_order_relaxed); }
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

  template <class Encode>
  void AppendWith(size_t reserved, const Encode& encode) noexcept;
  bool MakeRoom(size_t bytes) noexcept;
  void WakeIfIdle();
  void RequestWrite();
  bool IsReached(uint64_t position) const;
  // Returns 0 if nothing waits.
  int64_t OldestUnwrittenMs() const;

  // The thread.
  void Run();
  core::Status Turn(bool last);
  // Waits until there is something to do. Returns true if it is the last time.
  bool WaitForWork();
  // Waits until something is appended, a write is requested, or a deadline passes.
  void SleepUntilNeeded() BITSIEVE_REQUIRES(mutex_);
  std::optional<Clock::time_point> SyncDue() const;
  void TakeAppended();
  void SettleTaken();
  bool SwapAppended() noexcept;
  uint64_t taken() const { return durable_.load(std::memory_order_relaxed) + unsettled_.size(); }
  core::Status WriteAll(bool last);
  core::Status WriteTo(uint64_t position);
  std::string_view NextFrame(uint64_t position, uint64_t end) const;
  uint64_t WrittenForGood() const;
  core::Status OpenSegment();
  core::Status SyncByPolicy();

  // Jobs run concurrently with the writing, one at a time.
  enum class Job : uint8_t {
    kSync,     // of the segment
    kPrepare,  // of the segment, and the making of the next one
    kName,     // makes that one's name durable; and a sync of it
  };
  core::Status BeginJob(Job job);
  core::Status Perform(Job job);
  core::Status EndJob(const core::Status& outcome);
  core::Status EndJobs();
  core::Status BeginNextSegment();
  core::Status SwitchSegment();
  core::Status Sync();
  core::Status SyncSegment();
  void AdvanceDurable(uint64_t position);
  void Fail(const core::Error& error);
  void RecoverFromError();
  void RemoveObsolete();
  core::Status RemoveBeforeNow(uint64_t position);
  void RemoveImagesBefore(uint64_t position);
  void NotifyReached();
  FsyncPolicy policy() const { return policy_.load(std::memory_order_relaxed); }

  DataDirectory& directory_;
  FileIds& file_ids_;
  const core::ImagePool image_pool_;
  const core::Clock& clock_;

  std::atomic<FsyncPolicy> policy_;  // relaxed: seen late, one batch goes by the old one
  // Positions, each not above the one before it.
  std::atomic<uint64_t> end_;      // changed under append_lock_
  std::atomic<uint64_t> written_;  // changed by the thread
  std::atomic<uint64_t> durable_;  // changed by the thread
  std::atomic<uint64_t> synced_;   // changed by the thread; below durable_ only with kNever, and just after it
  std::atomic<uint64_t> first_kept_;
  std::atomic<uint64_t> sync_up_to_{0};  // by SyncUpTo; relaxed: RequestWrite follows the change
  // When the oldest record was appended of those that wait in appended_ and of those that the thread has taken, by the
  // monotonic clock; 0: none wait. Relaxed: seen late by one reply.
  std::atomic<int64_t> appended_since_ms_{0};
  std::atomic<int64_t> taken_since_ms_{0};
  std::atomic<bool> in_trouble_{false};  // relaxed: a change let through late is kept with the others
  std::atomic<bool> idle_{false};        // the thread sleeps, and wants to be woken by the next append

  // Room in appended_ beyond what is reserved, or less; below 0 for the moment in which a reservation finds that there
  // is none. Relaxed: append_lock_ is taken before the room is used, as it was when the room was made.
  std::atomic<int64_t> free_room_{0};

  core::SpinLock append_lock_;
  std::string appended_ BITSIEVE_GUARDED_BY(append_lock_);
  // Lists, since they are passed on without allocating; ascending.
  std::list<uint64_t> cuts_ BITSIEVE_GUARDED_BY(append_lock_);
  std::list<LogImageFile> image_files_ BITSIEVE_GUARDED_BY(append_lock_);

  mutable core::Mutex mutex_;
  core::ConditionVariable wake_;
  bool write_requested_ BITSIEVE_GUARDED_BY(mutex_) = false;  // a caller waits for what is there
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::list<Waiter> waiters_ BITSIEVE_GUARDED_BY(mutex_);
  uint64_t remove_before_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  std::string trouble_ BITSIEVE_GUARDED_BY(mutex_);

  // The members from here to last_outcome_ are used only by the log's thread and its jobs, unless they are atomic.
  std::string taken_;      // empty between the turns; its memory is reused
  std::string unsettled_;  // the log from durable_ on
  std::list<uint64_t> open_cuts_;
  std::shared_ptr<LogSegmentWriter> segment_;
  std::shared_ptr<LogSegmentWriter> next_segment_;  // made by a job
  Job job_ = Job::kSync;
  std::future<core::Status> outcome_;  // of job_; valid while it runs
  uint64_t job_end_ = 0;               // what was written up to here it makes durable
  Clock::time_point job_since_;
  std::atomic<bool> job_done_{false};
  std::atomic<uint64_t> longest_sync_ms_{0};  // relaxed: reported on its own
  std::future<core::Status> removal_;         // valid while one runs
  std::atomic<bool> removal_done_{false};
  std::string last_path_;              // of the last segment
  Clock::time_point oldest_unsynced_;  // when the first was written of what is not durable
  Clock::time_point retry_at_;
  std::optional<Clock::time_point> notify_at_;  // when to retry a notification that failed
  core::Status last_outcome_;                   // read once the thread was joined

  std::thread thread_;  // last: it uses all of the above
};

// Records on their way to the log: they are encoded, and room is reserved, before their change is made, so appending
// them cannot fail. A record that is never appended gives its room back. The writer outlives it. Thread-compatible.
class LogWriter::Entry {
 public:
  explicit Entry(LogWriter& log) : log_(log) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() { log_.Release(reserved_); }

  // May throw std::bad_alloc. The file of an Image stays for as long as the record.
  void Add(const log::Record& record);
  // Call at most once.
  void Append() noexcept;

 private:
  void ReserveAll();

  LogWriter& log_;
  std::string records_;
  std::list<LogImageFile> image_files_;  // at positions from the entry's beginning
  size_t reserved_ = 0;
};

}  // namespace bitsieve::server
