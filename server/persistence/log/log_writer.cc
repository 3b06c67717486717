#include "server/persistence/log/log_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/thread_name.h"

namespace bitsieve::server {
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
constexpr milliseconds kRetryWritingAfter{200};
constexpr milliseconds kRetryNotifyingAfter{2};  // it takes little memory
constexpr milliseconds kIdle{1000};              // without records, until memory is given back
constexpr milliseconds kGiveBackEvery{10'000};
constexpr milliseconds kSyncGlance{2};

}  // namespace

LogWriter::LogWriter(DataDirectory& directory, const core::Clock& clock, FsyncPolicy policy, uint64_t start,
                     const std::vector<log::FilterFile>& filter_files)
    : policy_(policy),
      appended_(
          clock, start, [this] { Wake(); }, filter_files),
      pending_(start),
      segment_(directory, pending_, [this] { RequestWrite(); }),
      removal_(directory, appended_, start, [this] { RequestWrite(); }) {
  thread_ = std::thread([this] { Run(); });
}

LogWriter::~LogWriter() { (void)Stop(); }

// ---- waking

void LogWriter::Wake() {
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
  return (policy() == FsyncPolicy::kAlways ? pending_.begin() : segment_.written()) >= position;
}

uint64_t LogWriter::AwaitedPosition() const {
  const uint64_t end = appended_.end();
  if (policy() == FsyncPolicy::kAlways) return end;
  const uint64_t waiting = end - std::min(end, segment_.written());
  if (waiting == 0) return 0;
  // In trouble changes are refused; replies to those that were made just before need not wait for the disk's repair.
  const bool held_up = !InTrouble() && appended_.age().Ms() > kMaxUnwrittenMs;
  return held_up || waiting > kMaxWaitingBytes ? end : 0;
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
  status.durable_position = pending_.begin();
  const uint64_t written = segment_.written();
  status.position = appended_.end();
  status.waiting_bytes = status.position - std::min(status.position, written);
  status.segment_bytes = written - std::min(written, removal_.first_kept());
  status.oldest_unwritten_ms = appended_.age().Ms();
  if (InTrouble()) status.trouble = Trouble();
  return status;
}

std::string LogWriter::Trouble() const {
  const core::LockGuard lock(mutex_);
  return trouble_;
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
    GiveBackMemory();
    if (last) last_outcome_ = std::move(status);
  }
  removal_.Wait();
}

core::Status LogWriter::Turn(bool last) {
  return core::OrOutOfMemory([&]() -> core::Status {
    pending_.Take(appended_);
    if (core::Status status = segment_.WritePending(); !status) return status;
    appended_.age().ClearTaken();
    return last ? segment_.Sync() : SyncByPolicy();
  });
}

bool LogWriter::WaitForWork() {
  const core::LockGuard lock(mutex_);
  if (InTrouble()) {
    while (!stopping_ && wake_.WaitUntil(mutex_, retry_at_)) continue;
  } else {
    SleepUntilNeeded();
    const Clock::time_point gathered = Clock::now() + kGather;
    const bool gathers = appended_.end() != pending_.end();
    while (gathers && !stopping_ && !write_requested_ && wake_.WaitUntil(mutex_, gathered)) continue;
  }
  write_requested_ = false;
  return stopping_;
}

void LogWriter::SleepUntilNeeded() {
  appended_.SetReaderIdle(true);
  const auto due = notify_at_ ? notify_at_ : SyncDue();
  for (bool in_time = true; in_time && !stopping_ && !write_requested_ && appended_.end() == pending_.end();) {
    if (due) {
      in_time = wake_.WaitUntil(mutex_, *due);
    } else if (!pending_.HasSpareMemory(appended_)) {
      wake_.Wait(mutex_);
    } else {
      in_time = wake_.WaitUntil(mutex_, Clock::now() + kIdle);
      if (!in_time) give_back_at_ = {};  // after a turn, which takes the other buffer of the appended records
    }
  }
  appended_.SetReaderIdle(false);
}

void LogWriter::GiveBackMemory() {
  const Clock::time_point now = Clock::now();
  if (now < give_back_at_) return;
  pending_.GiveBackMemory();
  give_back_at_ = now + kGiveBackEvery;
}

std::optional<LogWriter::Clock::time_point> LogWriter::SyncDue() const {
  if (segment_.written() == segment_.synced() || segment_.HasJob()) return std::nullopt;
  if (segment_.synced() < sync_up_to_.load(std::memory_order_relaxed)) return Clock::now();
  if (policy() != FsyncPolicy::kEverySecond) return std::nullopt;
  return segment_.oldest_unsynced() + kSyncAfter;
}

core::Status LogWriter::SyncByPolicy() {
  if (policy() == FsyncPolicy::kAlways || pending_.bytes() > kMaxUnsyncedBytes) return segment_.Sync();
  if (core::Status status = segment_.ContinueJobs(); !status) return status;
  const auto due = SyncDue();
  if (due && (*due <= Clock::now() || pending_.bytes() > kSyncBytes)) {
    if (core::Status status = segment_.BeginSync(); !status) return status;
  }
  if (policy() == FsyncPolicy::kNever) segment_.DropWritten();
  return {};
}

core::Status LogWriter::SyncUpTo(uint64_t position) {
  for (uint64_t before = sync_up_to_.load(std::memory_order_relaxed); before < position;) {
    if (sync_up_to_.compare_exchange_weak(before, position, std::memory_order_relaxed)) break;
  }
  while (synced_end() < position) {
    if (InTrouble()) return core::Fail(core::ErrorCode::kIo, "the log cannot be written: " + Trouble());
    RequestWrite();
    std::this_thread::sleep_for(kSyncGlance);
  }
  return {};
}

void LogWriter::RemoveObsolete() {
  uint64_t position;
  {
    const core::LockGuard lock(mutex_);
    position = remove_before_;
  }
  if (removal_.CanBegin(position) && segment_.IsDurableFrom(position)) removal_.Begin(position);
}

// ---- trouble

void LogWriter::Fail(const core::Error& error) {
  segment_.Abandon();
  if (pending_.bytes() != 0) {
    appended_.age().RestoreTaken(std::chrono::duration_cast<milliseconds>(Clock::now() - segment_.oldest_unsynced()));
  }
  retry_at_ = Clock::now() + kRetryWritingAfter;
  {
    const core::LockGuard lock(mutex_);
    try {
      trouble_ = error.message;
    } catch (const std::bad_alloc&) {
      trouble_ = core::kOutOfMemoryText;
    }
  }
  // After its reason, which a client that is refused is sent.
  if (!in_trouble_.exchange(true, std::memory_order_release)) {
    spdlog::error("the log cannot be written, changes are refused until it can: {}", error.message);
  }
}

void LogWriter::RecoverFromError() {
  if (!in_trouble_.exchange(false, std::memory_order_relaxed)) return;
  spdlog::info("the log can be written again, and nothing was lost");
}

}  // namespace bitsieve::server
