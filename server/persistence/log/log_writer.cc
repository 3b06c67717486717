#include "server/persistence/log/log_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/thread_name.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using std::chrono::milliseconds;

// How long the thread waits for more records when nothing is waiting for it.
constexpr milliseconds kGather{10};
// Delay before a sync: together with the time that the sync takes, it stays within a second.
constexpr milliseconds kSyncAfter{800};
// Bytes that are not durable stay in memory. If there are more than kSyncBytes of them, they are synced before a sync
// is due; beyond kMaxUnsyncedBytes the writing waits for the disk.
constexpr uint64_t kSyncBytes = 32 << 20;
constexpr uint64_t kMaxUnsyncedBytes = 64 << 20;
constexpr milliseconds kRetryAfter{200};
constexpr milliseconds kRetryNotifyingAfter{2};  // it takes little memory
constexpr milliseconds kIdle{1000};
constexpr size_t kKeptBytes = 1 << 20;  // of memory, when idle

// Returns how many of these bytes, which begin with a record and end with one, are whole records of about kFrameBytes.
size_t FrameOf(std::string_view records) {
  if (records.size() <= kFrameBytes) return records.size();
  size_t bytes = 0;
  while (bytes < kFrameBytes) {
    uint32_t length;
    std::memcpy(&length, records.data() + bytes, sizeof length);
    bytes += sizeof length + length;
  }
  return bytes;
}

}  // namespace

LogWriter::LogWriter(DataDirectory& directory, FileIds& file_ids, const core::ImagePool& image_pool,
                     const core::Clock& clock, FsyncPolicy policy, uint64_t start,
                     const std::vector<LogImageFile>& image_files)
    : directory_(directory),
      file_ids_(file_ids),
      image_pool_(image_pool),
      clock_(clock),
      policy_(policy),
      end_(start),
      written_(start),
      durable_(start),
      synced_(start),
      first_kept_(start),
      image_files_(image_files.begin(), image_files.end()) {
  thread_ = std::thread([this] { Run(); });
}

LogWriter::~LogWriter() { (void)Stop(); }

// ---- waking

// Both sides are sequentially consistent: either the thread, about to sleep, sees what was appended, or its appender
// sees that it is idle.
void LogWriter::WakeIfIdle() {
  if (!idle_.load() || !idle_.exchange(false)) return;
  const core::LockGuard lock(mutex_);
  wake_.NotifyOne();
}

void LogWriter::RequestWrite() {
  const core::LockGuard lock(mutex_);
  write_requested_ = true;
  wake_.NotifyOne();
}

void LogWriter::RemoveBefore(uint64_t position) {
  {
    const core::LockGuard lock(mutex_);
    remove_before_ = std::max(remove_before_, position);
  }
  RequestWrite();
}

void LogWriter::SetPolicy(FsyncPolicy policy) {
  policy_.store(policy, std::memory_order_relaxed);
  RequestWrite();
}

// ---- waiting

bool LogWriter::IsReached(uint64_t position) const {
  const auto& reached = policy() == FsyncPolicy::kAlways ? durable_ : written_;
  return reached.load(std::memory_order_acquire) >= position;
}

uint64_t LogWriter::AwaitedPosition() const {
  const uint64_t end = end_.load(std::memory_order_acquire);
  if (policy() == FsyncPolicy::kAlways) return end;
  const uint64_t waiting = end - std::min(end, written_.load(std::memory_order_relaxed));
  if (waiting == 0) return 0;
  // In trouble changes are refused; replies to those that were made just before need not wait for the disk's repair.
  const bool held_up = !InTrouble() && OldestUnwrittenMs() > kMaxUnwrittenMs;
  return held_up || waiting > kMaxWaitingBytes ? end : 0;
}

int64_t LogWriter::OldestUnwrittenMs() const {
  const int64_t appended = appended_since_ms_.load(std::memory_order_acquire);  // first: it becomes the other
  const int64_t taken = taken_since_ms_.load(std::memory_order_relaxed);
  const int64_t since = taken != 0 ? taken : appended;
  return since == 0 ? 0 : std::max<int64_t>(0, clock_.MonotonicMs() - since);
}

void LogWriter::Await(uint64_t position, std::function<void()> reached) {
  std::list<Waiter> waiter;
  waiter.push_back({position, std::move(reached)});
  {
    const core::LockGuard lock(mutex_);
    if (!IsReached(position)) {
      waiters_.splice(waiters_.end(), waiter);
      write_requested_ = true;
      wake_.NotifyOne();
      return;
    }
  }
  waiter.front().reached();
}

// Waiters that cannot be notified for lack of memory are notified at a later turn.
void LogWriter::NotifyReached() {
  std::list<Waiter> to_notify;
  {
    const core::LockGuard lock(mutex_);
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      const auto each = waiter++;
      if (IsReached(each->position)) to_notify.splice(to_notify.end(), waiters_, each);
    }
  }
  notify_at_.reset();
  try {
    for (; !to_notify.empty(); to_notify.pop_front()) to_notify.front().reached();
  } catch (const std::bad_alloc&) {
    notify_at_ = Clock::now() + kRetryNotifyingAfter;
    const core::LockGuard lock(mutex_);
    waiters_.splice(waiters_.begin(), to_notify);
  }
}

LogWriterStatus LogWriter::Status() const {
  LogWriterStatus status;
  status.durable_position = durable_.load(std::memory_order_acquire);
  const uint64_t written = written_.load(std::memory_order_acquire);
  status.position = end_.load(std::memory_order_acquire);
  status.waiting_bytes = status.position - std::min(status.position, written);
  status.segment_bytes = written - std::min(written, first_kept_.load(std::memory_order_relaxed));
  status.oldest_unwritten_ms = OldestUnwrittenMs();
  const core::LockGuard lock(mutex_);
  status.trouble = trouble_;
  return status;
}

core::Status LogWriter::Stop() {
  {
    const core::LockGuard lock(mutex_);
    stopping_ = true;
    wake_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
  return last_outcome_;
}

// ---- the thread

void LogWriter::Run() {
  core::NameThread("log");
  for (bool last = false; !last;) {
    last = WaitForWork();
    core::Status status = Turn(last);
    // In the last turn a failure may be that of an earlier job, with nothing tried since: so one more try.
    if (last && !status) {
      Fail(status.error());
      status = Turn(last);
    }
    if (status) {
      RecoverFromError();
      RemoveObsolete();
    } else {
      Fail(status.error());
    }
    NotifyReached();
    if (last) last_outcome_ = std::move(status);
  }
  if (removal_.valid()) removal_.wait();
}

core::Status LogWriter::Turn(bool last) {
  return core::OrOutOfMemory([&] {
    TakeAppended();
    return WriteAll(last);
  });
}

bool LogWriter::WaitForWork() {
  const core::LockGuard lock(mutex_);
  if (in_trouble_.load(std::memory_order_relaxed)) {
    while (!stopping_ && wake_.WaitUntil(mutex_, retry_at_)) continue;
  } else {
    SleepUntilNeeded();
    const Clock::time_point gathered = Clock::now() + kGather;
    const bool gathers = end_.load() != taken();
    while (gathers && !stopping_ && !write_requested_ && wake_.WaitUntil(mutex_, gathered)) continue;
  }
  write_requested_ = false;
  return stopping_;
}

void LogWriter::SleepUntilNeeded() {
  idle_.store(true);
  const auto due = notify_at_ ? notify_at_ : SyncDue();
  for (bool in_time = true; in_time && !stopping_ && !write_requested_ && end_.load() == taken();) {
    if (due) {
      in_time = wake_.WaitUntil(mutex_, *due);
    } else if (!unsettled_.empty() || unsettled_.capacity() <= kKeptBytes) {
      wake_.Wait(mutex_);
    } else if (!wake_.WaitUntil(mutex_, Clock::now() + kIdle)) {
      std::string().swap(unsettled_);  // what a burst of changes took
    }
  }
  idle_.store(false);
}

std::optional<LogWriter::Clock::time_point> LogWriter::SyncDue() const {
  if (written_.load() == synced_.load() || outcome_.valid()) return std::nullopt;
  if (synced_.load() < sync_up_to_.load(std::memory_order_relaxed)) return Clock::now();
  if (policy() != FsyncPolicy::kEverySecond) return std::nullopt;
  return oldest_unsynced_ + kSyncAfter;
}

// Swaps appended_ and taken_, which stay small, and copies to unsettled_, which is large and is not swapped: otherwise
// each of the three would grow large in turn, and touching fresh memory costs more than the copy.
void LogWriter::TakeAppended() {
  SettleTaken();  // what there was no memory for at the last turn
  while (!SwapAppended()) {
    size_t wanted;
    {
      const core::LockGuard lock(append_lock_);
      wanted = appended_.capacity();
    }
    taken_.reserve(wanted);
  }
  SettleTaken();
}

void LogWriter::SettleTaken() {
  unsettled_.append(taken_);
  taken_.clear();
}

// Returns false if what is reserved might find no room in the other buffer.
bool LogWriter::SwapAppended() noexcept {
  const core::LockGuard lock(append_lock_);
  if (taken_.capacity() < appended_.capacity()) return false;
  const size_t more = taken_.capacity() - appended_.capacity() + appended_.size();
  taken_.swap(appended_);
  if (!taken_.empty() && taken_since_ms_.load(std::memory_order_relaxed) == 0) {
    taken_since_ms_.store(appended_since_ms_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  appended_since_ms_.store(0, std::memory_order_release);
  free_room_.fetch_add(static_cast<int64_t>(more), std::memory_order_relaxed);
  open_cuts_.splice(open_cuts_.end(), cuts_);
  return true;
}

// After a failure, only what is not durable is written again.
core::Status LogWriter::WriteAll(bool last) {
  if (core::Status status = WriteTo(taken()); !status) return status;
  taken_since_ms_.store(0, std::memory_order_relaxed);
  return last ? Sync() : SyncByPolicy();
}

core::Status LogWriter::WriteTo(uint64_t position) {
  const uint64_t durable = durable_.load(std::memory_order_relaxed);
  // A sync that failed has closed the segment, and with kNever there may be nothing to write to a new one.
  if (!segment_ && synced_ < written_) {
    if (core::Status status = OpenSegment(); !status) return status;
  }
  for (uint64_t written; (written = written_.load(std::memory_order_relaxed)) < position;) {
    if (!segment_) {
      if (core::Status status = OpenSegment(); !status) return status;
    }
    const std::string_view frame = NextFrame(written, position);
    if (core::Status status = segment_->Append(frame, synced_); !status) return status;
    if (written == durable) oldest_unsynced_ = Clock::now();
    written_.store(written + frame.size(), std::memory_order_release);
  }
  return {};
}

// Returns the next frame of what lies between two positions. A frame ends where a segment is to begin.
std::string_view LogWriter::NextFrame(uint64_t position, uint64_t end) const {
  const auto cut = std::find_if(open_cuts_.begin(), open_cuts_.end(), [&](uint64_t at) { return at > position; });
  const uint64_t limit = cut == open_cuts_.end() ? end : std::min(end, *cut);
  const uint64_t durable = durable_.load(std::memory_order_relaxed);
  const std::string_view rest = std::string_view(unsettled_).substr(position - durable, limit - position);
  return rest.substr(0, FrameOf(rest));
}

// The beginning of a segment implies that all before it is durable, so that is synced under any policy.
core::Status LogWriter::OpenSegment() {
  Disk& disk = directory_.disk();
  const uint64_t written = written_.load(std::memory_order_relaxed);
  if (synced_ < written) {
    if (core::Status status = disk.SyncFile(last_path_); !status) return status;
    synced_ = written;
  }
  if (core::Status status = disk.CreateDirectory(directory_.log_path()); !status) return status;
  core::Result<LogSegmentWriter> segment = LogSegmentWriter::Create(disk, directory_.log_path(), written);
  if (!segment) return tl::unexpected(std::move(segment.error()));
  last_path_ = segment->path();
  segment_ = std::make_shared<LogSegmentWriter>(std::move(*segment));
  return {};
}

core::Status LogWriter::SyncByPolicy() {
  if (policy() == FsyncPolicy::kAlways || unsettled_.size() > kMaxUnsyncedBytes) return Sync();
  if (outcome_.valid() && job_done_.load()) {
    if (core::Status status = EndJob(outcome_.get()); !status) return status;
  }
  if (!outcome_.valid() && !open_cuts_.empty()) {
    if (core::Status status = BeginNextSegment(); !status) return status;
  }
  const auto due = SyncDue();
  if (due && (*due <= Clock::now() || unsettled_.size() > kSyncBytes)) {
    if (core::Status status = BeginJob(Job::kSync); !status) return status;
  }
  if (policy() == FsyncPolicy::kNever) AdvanceDurable(WrittenForGood());
  return {};
}

// Records past the beginning of a segment that is yet to be made will be written again.
uint64_t LogWriter::WrittenForGood() const {
  const uint64_t written = written_.load(std::memory_order_relaxed);
  return open_cuts_.empty() ? written : std::min(written, open_cuts_.front());
}

void LogWriter::AdvanceDurable(uint64_t position) {
  const uint64_t durable = durable_.load(std::memory_order_relaxed);
  if (position <= durable) return;
  unsettled_.erase(0, position - durable);
  durable_.store(position, std::memory_order_release);
}

// ---- trouble

void LogWriter::Fail(const core::Error& error) {
  if (outcome_.valid() && outcome_.get()) {
    synced_ = std::max(synced_.load(), job_end_);
    AdvanceDurable(job_end_);
  }
  next_segment_.reset();
  segment_.reset();
  written_.store(durable_.load(std::memory_order_relaxed), std::memory_order_release);
  if (!unsettled_.empty() && taken_since_ms_.load(std::memory_order_relaxed) == 0) {
    const auto age = std::chrono::duration_cast<milliseconds>(Clock::now() - oldest_unsynced_);
    taken_since_ms_.store(clock_.MonotonicMs() - age.count(), std::memory_order_relaxed);
  }
  retry_at_ = Clock::now() + kRetryAfter;
  if (!in_trouble_.exchange(true, std::memory_order_relaxed)) {
    spdlog::error("the log cannot be written, changes are refused until it can: {}", error.message);
  }
  const core::LockGuard lock(mutex_);
  try {
    trouble_ = error.message;
  } catch (const std::bad_alloc&) {
    trouble_ = core::kOutOfMemoryText;
  }
}

void LogWriter::RecoverFromError() {
  if (!in_trouble_.load(std::memory_order_relaxed)) return;
  {
    const core::LockGuard lock(mutex_);
    trouble_.clear();
  }
  in_trouble_.store(false, std::memory_order_relaxed);
  spdlog::info("the log can be written again, and nothing was lost");
}

}  // namespace bitsieve::server
