#include "server/persistence/log/active_segment.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace bitsieve::server {

ActiveSegment::ActiveSegment(DataDirectory& directory, PendingRecords& pending, std::function<void()> on_job_end)
    : directory_(directory),
      pending_(pending),
      on_job_end_(std::move(on_job_end)),
      written_(pending.begin()),
      synced_(pending.begin()) {}

// ---- writing

// After a failure, only what is not durable is written again. Abandon left no segment, and if DropWritten was called
// before, there may be nothing to write to a new one, yet something to sync.
core::Status ActiveSegment::WritePending() {
  const uint64_t end = pending_.end();
  if (!segment_ && synced_ < written_) {
    if (core::Status status = Open(); !status) return status;
  }
  for (uint64_t written; (written = written_.load(std::memory_order_relaxed)) < end;) {
    if (!segment_) {
      if (core::Status status = Open(); !status) return status;
    }
    const std::string_view frame = pending_.FrameAt(written, end);
    if (core::Status status = segment_->Append(frame, synced_); !status) return status;
    if (written == pending_.begin()) oldest_unsynced_ = Clock::now();
    written_.store(written + frame.size(), std::memory_order_release);
  }
  return {};
}

// The beginning of a segment implies that all before it is durable, so that is synced under any policy.
core::Status ActiveSegment::Open() {
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
  segment_ = std::make_unique<LogSegmentWriter>(std::move(*segment));
  return {};
}

core::Status ActiveSegment::Sync() {
  if (core::Status status = EndJobs(); !status) return status;
  while (pending_.next_start()) {
    if (core::Status status = BeginNext(); !status) return status;
    if (core::Status status = EndJobs(); !status) return status;
  }
  const uint64_t written = written_.load(std::memory_order_relaxed);
  if (synced_ < written) {
    if (core::Status status = SyncFile(); !status) return status;
    synced_ = written;
  }
  pending_.DropBefore(written);
  return {};
}

core::Status ActiveSegment::BeginSync() { return BeginJob(Job::kSync); }

core::Status ActiveSegment::SyncFile() {
  const Clock::time_point begin = Clock::now();
  core::Status status = segment_->Sync();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
  if (const auto took = static_cast<uint64_t>(ms); took > longest_sync_ms_.load(std::memory_order_relaxed)) {
    longest_sync_ms_.store(took, std::memory_order_relaxed);
  }
  return status;
}

void ActiveSegment::RaiseSynced(uint64_t position) {
  synced_ = std::max(synced_.load(), position);
  pending_.DropBefore(position);
}

// Records past the start of a segment that is yet to be made will be written again.
uint64_t ActiveSegment::WrittenForGood() const {
  return pending_.UpToNextStart(written_.load(std::memory_order_relaxed));
}

void ActiveSegment::Abandon() {
  if (HasJob() && job_.TakeOutcome()) RaiseSynced(job_end_);
  next_.reset();
  segment_.reset();
  written_.store(pending_.begin(), std::memory_order_release);
}

bool ActiveSegment::IsDurableFrom(uint64_t position) const {
  return segment_ && segment_->start() >= position && !(HasJob() && kind_ == Job::kName);
}

// ---- jobs

core::Status ActiveSegment::BeginJob(Job job) {
  kind_ = job;
  job_end_ = WrittenForGood();
  job_since_ = Clock::now();
  const bool runs = job_.Begin([this, job] { return Perform(job); }, [this](const core::Status&) { on_job_end_(); });
  return runs ? core::Status() : EndJob(Perform(job));
}

// Runs on a thread of its own if one can be had.
core::Status ActiveSegment::Perform(Job job) {
  Disk& disk = directory_.disk();
  core::Status status = SyncFile();
  if (status && job == Job::kName) status = segment_->MakeCurrent(disk, directory_.log_path());
  if (!status || job != Job::kPrepare) return status;
  core::Result<LogSegmentWriter> next = LogSegmentWriter::Prepare(disk, directory_.log_path(), job_end_);
  if (!next) return tl::unexpected(std::move(next.error()));
  next_ = std::make_unique<LogSegmentWriter>(std::move(*next));
  return {};
}

core::Status ActiveSegment::EndJob(const core::Status& outcome) {
  if (!outcome) return outcome;
  oldest_unsynced_ = job_since_;  // of what was written during the job
  RaiseSynced(job_end_);
  return kind_ == Job::kPrepare ? SwitchToNext() : core::Status();
}

// Waits for the job in progress, if there is one, and for those that follow from it.
core::Status ActiveSegment::EndJobs() {
  while (HasJob()) {
    if (core::Status status = EndJob(job_.TakeOutcome()); !status) return status;
  }
  return {};
}

core::Status ActiveSegment::ContinueJobs() {
  if (job_.is_done()) {
    if (core::Status status = EndJob(job_.TakeOutcome()); !status) return status;
  }
  return HasJob() || !pending_.next_start() ? core::Status() : BeginNext();
}

// No job is under way, and all is written.
core::Status ActiveSegment::BeginNext() {
  if (!segment_) {
    if (core::Status status = Open(); !status) return status;
  }
  pending_.DropStartsUpTo(segment_->start());
  return pending_.next_start() ? BeginJob(Job::kPrepare) : core::Status();
}

// Records written past the new segment's start in the meantime go to it as well, before a reader sees it.
core::Status ActiveSegment::SwitchToNext() {
  std::unique_ptr<LogSegmentWriter> next = std::move(next_);
  pending_.DropStartsUpTo(next->start());
  for (const uint64_t written = written_.load(std::memory_order_relaxed); next->end() < written;) {
    const std::string_view frame = pending_.FrameAt(next->end(), written);
    if (core::Status status = next->Append(frame, synced_); !status) return status;
  }
  if (core::Status status = next->Rename(directory_.disk()); !status) return status;
  last_path_ = next->path();
  segment_ = std::move(next);
  return BeginJob(Job::kName);
}

}  // namespace bitsieve::server
