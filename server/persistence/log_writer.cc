#include "server/persistence/log_writer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "server/persistence/log_reader.h"

namespace bitsieve::server {
namespace {

using std::chrono::milliseconds;

// So long the thread waits for more to come together when nobody is waiting for it.
constexpr milliseconds kGather{10};
// With the time that the sync takes, a second is kept.
constexpr milliseconds kSyncAfter{800};
// More than that is not kept in memory for the sake of fewer syncs.
constexpr uint64_t kMaxUnsyncedBytes = 32 << 20;
constexpr milliseconds kRetryAfter{200};
// Short enough for a string to hold it without allocating.
constexpr const char* kOutOfMemory = "out of memory";

template <class Work>
core::Status OrOutOfMemory(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return core::Fail(core::ErrorCode::kOutOfMemory, kOutOfMemory);
  }
}

// How many of these bytes, which begin with a record and end with one, are whole records of about kFrameBytes.
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

LogWriter::LogWriter(DataDirectory& directory, FileIds& file_ids, const core::ImagePool& image_pool, FsyncPolicy policy,
                     uint64_t start, const std::vector<LogImageFile>& image_files)
    : directory_(directory),
      file_ids_(file_ids),
      image_pool_(image_pool),
      policy_(policy),
      end_(start),
      written_(start),
      durable_(start),
      first_kept_(start),
      image_files_(image_files.begin(), image_files.end()),
      synced_(start) {
  thread_ = std::thread([this] { Run(); });
}

LogWriter::~LogWriter() { (void)Stop(); }

// ---- waking

// Both sides are sequentially consistent: either the thread, about to sleep, sees what was appended, or its appender
// sees that it is idle.
void LogWriter::WakeIfIdle() {
  if (!idle_.load() || !idle_.exchange(false)) return;
  const std::lock_guard lock(mutex_);
  wake_.notify_one();
}

void LogWriter::Hurry() {
  const std::lock_guard lock(mutex_);
  hurry_ = true;
  wake_.notify_one();
}

void LogWriter::RemoveBefore(uint64_t position) {
  {
    const std::lock_guard lock(mutex_);
    remove_before_ = std::max(remove_before_, position);
  }
  Hurry();
}

void LogWriter::SetPolicy(FsyncPolicy policy) {
  policy_.store(policy, std::memory_order_relaxed);
  Hurry();
}

// ---- waiting

bool LogWriter::IsReached(uint64_t position) const {
  const auto& reached = policy() == FsyncPolicy::kAlways ? durable_ : written_;
  return reached.load(std::memory_order_acquire) >= position;
}

uint64_t LogWriter::AwaitedPosition() const {
  const uint64_t end = end_.load(std::memory_order_acquire);
  if (policy() == FsyncPolicy::kAlways) return end;
  return end - std::min(end, written_.load(std::memory_order_relaxed)) > kMaxWaitingBytes ? end : 0;
}

void LogWriter::Await(uint64_t position, std::function<void()> reached) {
  std::list<Waiter> waiter;
  waiter.push_back({position, std::move(reached)});
  {
    const std::lock_guard lock(mutex_);
    if (!IsReached(position)) {
      waiters_.splice(waiters_.end(), waiter);
      hurry_ = true;
      wake_.notify_one();
      return;
    }
  }
  waiter.front().reached();
}

// Who cannot be told, for want of memory, is told at a later turn.
void LogWriter::TellReached() {
  std::list<Waiter> told;
  {
    const std::lock_guard lock(mutex_);
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      const auto each = waiter++;
      if (IsReached(each->position)) told.splice(told.end(), waiters_, each);
    }
  }
  for (tell_at_.reset(); !told.empty(); told.pop_front()) {
    try {
      told.front().reached();
    } catch (const std::bad_alloc&) {
      tell_at_ = Clock::now() + kRetryAfter;
      const std::lock_guard lock(mutex_);
      waiters_.splice(waiters_.begin(), told);
    }
  }
}

LogWriterStatus LogWriter::Status() const {
  LogWriterStatus status;
  status.durable_position = durable_.load(std::memory_order_acquire);
  const uint64_t written = written_.load(std::memory_order_acquire);
  status.position = end_.load(std::memory_order_acquire);
  status.waiting_bytes = status.position - std::min(status.position, written);
  status.segment_bytes = written - std::min(written, first_kept_.load(std::memory_order_relaxed));
  const std::lock_guard lock(mutex_);
  status.trouble = trouble_;
  return status;
}

core::Status LogWriter::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  return last_outcome_;
}

// ---- the thread

void LogWriter::Run() {
  for (bool last = false; !last;) {
    last = WaitForWork();
    const core::Status status = OrOutOfMemory([&] {
      TakeAppended();
      return WriteAll(last);
    });
    if (status) {
      Mend();
      (void)OrOutOfMemory([this] { return RemoveObsolete(); });
    } else {
      Fail(status.error());
    }
    TellReached();
    if (last) last_outcome_ = status;  // read once the thread was joined
  }
}

bool LogWriter::WaitForWork() {
  std::unique_lock lock(mutex_);
  if (in_trouble_.load(std::memory_order_relaxed)) {
    wake_.wait_until(lock, retry_at_, [this] { return stopping_; });
    hurry_ = false;
    return stopping_;
  }
  const auto pressed = [this] { return stopping_ || hurry_; };
  const auto awake = [&] { return pressed() || end_.load() != taken(); };
  idle_.store(true);
  if (const auto due = tell_at_ ? tell_at_ : SyncDue()) {
    wake_.wait_until(lock, *due, awake);
  } else {
    wake_.wait(lock, awake);
  }
  idle_.store(false);
  if (end_.load() != taken()) wake_.wait_for(lock, kGather, pressed);
  hurry_ = false;
  return stopping_;
}

std::optional<LogWriter::Clock::time_point> LogWriter::SyncDue() const {
  if (policy() != FsyncPolicy::kEverySecond || written_.load() == durable_.load() || syncing_.valid()) {
    return std::nullopt;
  }
  return oldest_unsynced_ + kSyncAfter;
}

// What is appended to, and what was, change places and stay small; the large one is copied to, and stays what it is:
// if it took part, each of them would grow large anew, and touching fresh memory costs more than the copy.
void LogWriter::TakeAppended() {
  SettleTaken();  // what there was no memory for at the last turn
  while (!SwapAppended()) {
    size_t wanted;
    {
      const std::lock_guard lock(append_lock_);
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

// False if what is reserved might find no room in the other buffer.
bool LogWriter::SwapAppended() noexcept {
  const std::lock_guard lock(append_lock_);
  if (taken_.capacity() < appended_.capacity()) return false;
  const size_t more = taken_.capacity() - appended_.capacity() + appended_.size();
  taken_.swap(appended_);
  free_room_.fetch_add(static_cast<int64_t>(more), std::memory_order_relaxed);
  open_cuts_.splice(open_cuts_.end(), cuts_);
  return true;
}

// In the order of the log; cuts where they stand. Whatever succeeded is not done again after a failure.
core::Status LogWriter::WriteAll(bool last) {
  const uint64_t end = taken();
  while (!open_cuts_.empty()) {
    if (core::Status status = WriteTo(open_cuts_.front()); !status) return status;
    if (core::Status status = Cut(open_cuts_.front()); !status) return status;
    open_cuts_.pop_front();
  }
  if (core::Status status = WriteTo(end); !status) return status;
  return last ? Sync() : SyncAsPolicyAsks();
}

core::Status LogWriter::SyncAsPolicyAsks() {
  switch (policy()) {
    case FsyncPolicy::kAlways:
      return Sync();
    case FsyncPolicy::kNever:
      if (core::Status status = EndSync(); !status) return status;
      NoteDurable(written_.load(std::memory_order_relaxed));
      return {};
    case FsyncPolicy::kEverySecond:
      break;
  }
  if (unsettled_.size() > kMaxUnsyncedBytes) return Sync();
  if (syncing_.valid() && sync_done_.load()) return EndSync();
  return SyncDue() && *SyncDue() <= Clock::now() ? BeginSync() : core::Status();
}

core::Status LogWriter::BeginSync() {
  syncing_end_ = written_.load(std::memory_order_relaxed);
  syncing_since_ = Clock::now();
  sync_done_.store(false);
  try {
    syncing_ = std::async(std::launch::async, [this, segment = segment_] {
      core::Status status = segment->Sync();
      sync_done_.store(true);
      Hurry();
      return status;
    });
  } catch (const std::system_error&) {  // no thread to be had
    return Sync();
  } catch (const std::bad_alloc&) {
    return Sync();
  }
  return {};
}

// Waits for what goes on, if anything does.
core::Status LogWriter::EndSync() {
  if (!syncing_.valid()) return {};
  if (core::Status status = syncing_.get(); !status) return status;
  synced_ = syncing_end_;
  oldest_unsynced_ = syncing_since_;  // of what was written meanwhile
  NoteDurable(syncing_end_);
  return {};
}

core::Status LogWriter::WriteTo(uint64_t position) {
  const uint64_t durable = durable_.load(std::memory_order_relaxed);
  for (uint64_t written; (written = written_.load(std::memory_order_relaxed)) < position;) {
    if (!segment_) {
      if (core::Status status = OpenSegment(); !status) return status;
    }
    const std::string_view rest = std::string_view(unsettled_).substr(written - durable, position - written);
    const std::string_view frame = rest.substr(0, FrameOf(rest));
    if (core::Status status = segment_->Append(frame, synced_); !status) return status;
    if (written == durable) oldest_unsynced_ = Clock::now();
    written_.store(written + frame.size(), std::memory_order_release);
  }
  return {};
}

// A segment tells by where it begins that all before it is durable: so it must be, whatever the policy.
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

core::Status LogWriter::Cut(uint64_t position) {
  if (segment_ && segment_->start() == position) return {};
  if (core::Status status = Sync(); !status) return status;
  segment_.reset();
  return OpenSegment();
}

core::Status LogWriter::Sync() {
  if (core::Status status = EndSync(); !status) return status;
  const uint64_t written = written_.load(std::memory_order_relaxed);
  if (synced_ < written) {
    if (core::Status status = segment_->Sync(); !status) return status;
    synced_ = written;
  }
  NoteDurable(written);
  return {};
}

void LogWriter::NoteDurable(uint64_t position) {
  unsettled_.erase(0, position - durable_.load(std::memory_order_relaxed));
  durable_.store(position, std::memory_order_release);
}

// ---- trouble

void LogWriter::Fail(const core::Error& error) {
  (void)OrOutOfMemory([this] { return EndSync(); });
  segment_.reset();
  written_.store(durable_.load(std::memory_order_relaxed), std::memory_order_release);
  retry_at_ = Clock::now() + kRetryAfter;
  if (!in_trouble_.exchange(true, std::memory_order_relaxed)) {
    spdlog::error("the log cannot be written, changes are refused until it can: {}", error.message);
  }
  const std::lock_guard lock(mutex_);
  try {
    trouble_ = error.message;
  } catch (const std::bad_alloc&) {
    trouble_ = kOutOfMemory;
  }
}

void LogWriter::Mend() {
  if (!in_trouble_.load(std::memory_order_relaxed)) return;
  {
    const std::lock_guard lock(mutex_);
    trouble_.clear();
  }
  in_trouble_.store(false, std::memory_order_relaxed);
  spdlog::info("the log is written again, and nothing was lost");
}

core::Status LogWriter::RemoveObsolete() {
  uint64_t position;
  {
    const std::lock_guard lock(mutex_);
    position = remove_before_;
  }
  const bool is_new = position > first_kept_.load(std::memory_order_relaxed);
  if (!is_new || written_.load(std::memory_order_relaxed) < position) return {};
  for (const std::string& warning : RemoveLogBefore(directory_.disk(), directory_.log_path(), position)) {
    spdlog::warn("a segment of the log that nobody needs is left over: {}", warning);
  }
  RemoveImagesBefore(position);
  first_kept_.store(position, std::memory_order_relaxed);
  return {};
}

// Those that cannot be removed are tried again the next time.
void LogWriter::RemoveImagesBefore(uint64_t position) {
  std::list<LogImageFile> obsolete;
  {
    const std::lock_guard lock(append_lock_);
    for (auto file = image_files_.begin(); file != image_files_.end();) {
      const auto each = file++;
      if (each->position < position) obsolete.splice(obsolete.end(), image_files_, each);
    }
  }
  std::erase_if(obsolete, [this](const LogImageFile& file) {
    return directory_.disk().Remove(directory_.FilterPath(file.file_id)).has_value();
  });
  const std::lock_guard lock(append_lock_);
  image_files_.splice(image_files_.begin(), obsolete);
}

}  // namespace bitsieve::server
