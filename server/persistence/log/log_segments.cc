// The part of LogWriter that runs concurrently with the writing: syncs, the making of segments and their removal.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <list>
#include <new>
#include <system_error>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/roll_back.h"
#include "core/base/thread_name.h"
#include "server/persistence/log/log_reader.h"
#include "server/persistence/log/log_writer.h"

namespace bitsieve::server {
namespace {

constexpr std::chrono::milliseconds kSyncGlance{2};

// Returns false if no thread, or no memory for one, is to be had.
template <class Work>
bool RunBeside(std::future<core::Status>& outcome, const Work& work) {
  try {
    outcome = std::async(std::launch::async, [work] {
      core::NameThread("log-job");
      return work();
    });
    return true;
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return false;
}

}  // namespace

core::Status LogWriter::BeginJob(Job job) {
  job_ = job;
  job_end_ = WrittenForGood();
  job_since_ = Clock::now();
  job_done_.store(false);
  const bool runs = RunBeside(outcome_, [this, job] {
    core::Status status = core::OrOutOfMemory([&] { return Perform(job); });
    job_done_.store(true);
    RequestWrite();
    return status;
  });
  return runs ? core::Status() : EndJob(Perform(job));
}

// Runs on a thread of its own if one can be had. Until it ends, segment_ stays the same and is appended to.
core::Status LogWriter::Perform(Job job) {
  Disk& disk = directory_.disk();
  core::Status status = SyncSegment();
  if (status && job == Job::kName) status = segment_->MakeCurrent(disk, directory_.log_path());
  if (!status || job != Job::kPrepare) return status;
  core::Result<LogSegmentWriter> next = LogSegmentWriter::Prepare(disk, directory_.log_path(), job_end_);
  if (!next) return tl::unexpected(std::move(next.error()));
  next_segment_ = std::make_shared<LogSegmentWriter>(std::move(*next));
  return {};
}

core::Status LogWriter::SyncSegment() {
  const Clock::time_point begin = Clock::now();
  core::Status status = segment_->Sync();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
  if (const auto took = static_cast<uint64_t>(ms); took > longest_sync_ms_.load(std::memory_order_relaxed)) {
    longest_sync_ms_.store(took, std::memory_order_relaxed);
  }
  return status;
}

core::Status LogWriter::EndJob(const core::Status& outcome) {
  if (!outcome) return outcome;
  synced_ = std::max(synced_.load(), job_end_);
  oldest_unsynced_ = job_since_;  // of what was written during the sync
  AdvanceDurable(job_end_);
  return job_ == Job::kPrepare ? SwitchSegment() : core::Status();
}

// Waits for the job in progress, if there is one.
core::Status LogWriter::EndJobs() {
  while (outcome_.valid()) {
    if (core::Status status = EndJob(outcome_.get()); !status) return status;
  }
  return {};
}

// No job is under way, and all is written.
core::Status LogWriter::BeginNextSegment() {
  if (!segment_) {
    if (core::Status status = OpenSegment(); !status) return status;
  }
  while (!open_cuts_.empty() && open_cuts_.front() <= segment_->start()) open_cuts_.pop_front();
  return open_cuts_.empty() ? core::Status() : BeginJob(Job::kPrepare);
}

// Records written past the new segment's beginning in the meantime go to it as well, before a reader sees it.
core::Status LogWriter::SwitchSegment() {
  const std::shared_ptr<LogSegmentWriter> next = std::move(next_segment_);
  open_cuts_.pop_front();
  for (const uint64_t written = written_.load(std::memory_order_relaxed); next->end() < written;) {
    const std::string_view frame = NextFrame(next->end(), written);
    if (core::Status status = next->Append(frame, synced_); !status) return status;
  }
  if (core::Status status = next->Rename(directory_.disk()); !status) return status;
  last_path_ = next->path();
  segment_ = next;
  return BeginJob(Job::kName);
}

core::Status LogWriter::Sync() {
  if (core::Status status = EndJobs(); !status) return status;
  while (!open_cuts_.empty()) {
    if (core::Status status = BeginNextSegment(); !status) return status;
    if (core::Status status = EndJobs(); !status) return status;
  }
  const uint64_t written = written_.load(std::memory_order_relaxed);
  if (synced_ < written) {
    if (core::Status status = SyncSegment(); !status) return status;
    synced_ = written;
  }
  AdvanceDurable(written);
  return {};
}

core::Status LogWriter::SyncUpTo(uint64_t position) {
  for (uint64_t before = sync_up_to_.load(std::memory_order_relaxed); before < position;) {
    if (sync_up_to_.compare_exchange_weak(before, position, std::memory_order_relaxed)) break;
  }
  while (synced_end() < position) {
    // The text changes after the flag does, or before it; only with a text there is trouble to report.
    if (InTrouble()) {
      if (const std::string trouble = Status().trouble; !trouble.empty()) {
        return core::Fail(core::ErrorCode::kIo, "the log cannot be written: " + trouble);
      }
    }
    RequestWrite();
    std::this_thread::sleep_for(kSyncGlance);
  }
  return {};
}

// ---- obsolete segments and files

void LogWriter::RemoveObsolete() {
  if (removal_.valid() && !removal_done_.load()) return;
  uint64_t position;
  {
    const core::LockGuard lock(mutex_);
    position = remove_before_;
  }
  if (position <= first_kept_.load(std::memory_order_relaxed)) return;
  // The segment that begins there must be sure to be there after a power cut.
  const bool is_named = segment_ && segment_->start() >= position && !(outcome_.valid() && job_ == Job::kName);
  if (!is_named) return;
  removal_done_.store(false);
  const bool runs = RunBeside(removal_, [this, position] {
    core::Status status = core::OrOutOfMemory([&] { return RemoveBeforeNow(position); });
    removal_done_.store(true);
    if (status) RequestWrite();
    return status;
  });
  if (!runs) (void)core::OrOutOfMemory([&] { return RemoveBeforeNow(position); });
}

core::Status LogWriter::RemoveBeforeNow(uint64_t position) {
  for (const std::string& warning : RemoveLogBefore(directory_.disk(), directory_.log_path(), position)) {
    spdlog::warn("an obsolete segment of the log is left over: {}", warning);
  }
  RemoveImagesBefore(position);
  first_kept_.store(position, std::memory_order_relaxed);
  return {};
}

// Those that cannot be removed are tried again the next time.
void LogWriter::RemoveImagesBefore(uint64_t position) {
  std::list<LogImageFile> obsolete;
  {
    const core::LockGuard lock(append_lock_);
    const auto kept = std::find_if(image_files_.begin(), image_files_.end(),
                                   [&](const LogImageFile& file) { return file.position >= position; });
    obsolete.splice(obsolete.end(), image_files_, image_files_.begin(), kept);
  }
  const core::RollBack not_removed([&] {
    const core::LockGuard lock(append_lock_);
    image_files_.splice(image_files_.begin(), obsolete);
  });
  std::erase_if(obsolete, [this](const LogImageFile& file) {
    return directory_.disk().Remove(directory_.FilterPath(file.file_id)).has_value();
  });
}

}  // namespace bitsieve::server
