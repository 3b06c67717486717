#include "server/persistence/snapshot/snapshotter.h"

#include <spdlog/spdlog.h>

#include <new>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/thread_name.h"

namespace bitsieve::server {
namespace {

// The next attempt after one that failed.
constexpr std::chrono::seconds kRetryAfter{5};
constexpr std::chrono::seconds kGlance{1};

core::Status StoppedError() {
  return core::Fail(core::ErrorCode::kIo, "no snapshot was made: the server is shutting down");
}

// A caller waits for it: it is notified as soon as there is memory for that.
void Report(const Snapshotter::Done& done, const core::Status& outcome) {
  constexpr std::chrono::milliseconds kPause{20};
  for (;; std::this_thread::sleep_for(kPause)) {
    try {
      return done(outcome);
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

void LogOutcome(const core::Result<SaveReport>& report, int64_t duration_ms, bool overdue = false) {
  if (!report && overdue) {
    spdlog::info(
        "the time limit for the last snapshot has passed: the previous snapshot is complete, and the log has the rest");
    return;
  }
  if (!report) {
    spdlog::error("snapshot failed, the previous one is still intact: {}", report.error().message);
    return;
  }
  spdlog::info("snapshot of {} filters: {} written, {} bytes, {} changed and left to the log, {} ms", report->filters,
               report->filters_written, report->bytes_written, report->filters_in_log, duration_ms);
  for (const std::string& warning : report->warnings) spdlog::warn("an old snapshot file is left over: {}", warning);
}

}  // namespace

Snapshotter::Snapshotter(const SnapshotParts& parts, SavedState saved, const SnapshotSchedule& schedule)
    : writer_(parts, std::move(saved)), clock_(parts.clock), schedule_(schedule), last_attempt_(Clock::now()) {
  status_.last_save_unix_s = clock_.WallMs() / 1000;
  thread_ = std::thread([this] { Run(); });
}

Snapshotter::~Snapshotter() { (void)Stop(false); }

void Snapshotter::Save(Done done) {
  {
    const core::LockGuard lock(mutex_);
    if (!stopping_) {
      waiting_.push_back(std::move(done));
      wake_.NotifyOne();
      return;
    }
  }
  done(StoppedError());
}

void Snapshotter::SetSchedule(const SnapshotSchedule& schedule) {
  const core::LockGuard lock(mutex_);
  schedule_ = schedule;
  wake_.NotifyOne();
}

SnapshotterStatus Snapshotter::Status() const {
  const uint64_t changes = writer_.ChangesAtMost();
  const core::LockGuard lock(mutex_);
  SnapshotterStatus status = status_;
  status.changes_since_last_save = changes;
  return status;
}

core::Status Snapshotter::Stop(bool final_save, std::optional<std::chrono::seconds> timeout) {
  {
    const core::LockGuard lock(mutex_);
    if (stopping_) return final_outcome_;
    if (timeout) writer_.EndBy(Clock::now() + *timeout);
    has_timeout_ = timeout.has_value();
    stopping_ = true;
    final_save_ = final_save;
    wake_.NotifyOne();
  }
  thread_.join();
  const core::LockGuard lock(mutex_);
  return final_outcome_;
}

void Snapshotter::Run() {
  core::NameThread("snapshot");
  const core::LockGuard lock(mutex_);
  while (true) {
    WaitForWork();
    const std::vector<Done> waiting = std::exchange(waiting_, {});
    const bool last = stopping_;
    const bool save = !last || final_save_;
    const Reason reason = !waiting.empty() ? Reason::kRequest : LogIsLong() ? Reason::kLongLog : Reason::kInterval;
    core::Status outcome;
    {
      const core::UnlockGuard unlocked(mutex_);
      if (!save) outcome = core::UntilThereIsMemory(StoppedError);
      if (save) outcome = last ? SaveAtTheEnd() : SaveOrOutOfMemory(reason);
      for (const Done& done : waiting) Report(done, outcome);
    }
    if (!last) continue;
    if (save) final_outcome_ = std::move(outcome);
    return;
  }
}

void Snapshotter::WaitForWork() {
  while (!stopping_ && waiting_.empty()) {
    const std::optional<Clock::time_point> due = NextAttempt();
    if ((due && Clock::now() >= *due) || LogIsLong()) return;
    // Growth of the log is not reported: its length is polled.
    std::optional<Clock::time_point> until = due;
    if (schedule_.max_log_bytes != 0) until = std::min(due.value_or(Clock::time_point::max()), Clock::now() + kGlance);
    if (until) {
      wake_.WaitUntil(mutex_, *until);
    } else {
      wake_.Wait(mutex_);
    }
  }
}

std::optional<Snapshotter::Clock::time_point> Snapshotter::NextAttempt() const {
  if (schedule_.interval == std::chrono::seconds::zero()) return std::nullopt;
  return last_attempt_ + (trouble_.empty() ? schedule_.interval : std::min(schedule_.interval, kRetryAfter));
}

bool Snapshotter::LogIsLong() const {
  if (schedule_.max_log_bytes == 0 || writer_.LogBytes() <= schedule_.max_log_bytes) return false;
  return trouble_.empty() || Clock::now() >= last_attempt_ + kRetryAfter;
}

void Snapshotter::RecordReport(const core::Result<SaveReport>& report) {
  status_.last_ok = report.has_value();
  trouble_ = report ? "" : report.error().message;
  in_trouble_.store(!report && schedule_.any(), std::memory_order_relaxed);
}

std::string Snapshotter::Trouble() const {
  const core::LockGuard lock(mutex_);
  return trouble_;
}

// Small filters first: they are saved soon, and a log of many of them takes long to read.
core::Status Snapshotter::SaveAtTheEnd() {
  bool has_timeout;
  {
    const core::LockGuard lock(mutex_);
    has_timeout = has_timeout_;
  }
  core::Status status = has_timeout ? SaveOrOutOfMemory(Reason::kInterval) : core::Status();
  if (status && (!has_timeout || filters_in_log_ != 0)) status = SaveOrOutOfMemory(Reason::kStop);
  return has_timeout && writer_.IsOverdue() ? core::Status() : status;
}

core::Status Snapshotter::SaveOrOutOfMemory(Reason reason) {
  const Clock::time_point start = Clock::now();
  try {
    return SaveOnce(reason);
  } catch (const std::bad_alloc&) {
    const core::Result<SaveReport> failure = core::Fail(core::ErrorCode::kOutOfMemory, core::kOutOfMemoryText);
    LogOutcome(failure, 0);
    const core::LockGuard lock(mutex_);
    last_attempt_ = start;
    status_.in_progress = false;
    RecordReport(failure);
    return tl::unexpected(failure.error());
  }
}

core::Result<SaveReport> Snapshotter::Write(Reason reason) {
  uint32_t growth_percent = 0;
  if (reason == Reason::kInterval) {
    const core::LockGuard lock(mutex_);
    growth_percent = schedule_.growth_percent;
  }
  return writer_.Save(growth_percent);
}

core::Status Snapshotter::SaveOnce(Reason reason) {
  const Clock::time_point start = Clock::now();
  if (reason == Reason::kInterval && writer_.ChangesAtMost() == 0) {
    const core::LockGuard lock(mutex_);
    last_attempt_ = start;
    return {};
  }
  {
    const core::LockGuard lock(mutex_);
    status_.in_progress = true;
  }
  const core::Result<SaveReport> report = Write(reason);
  const auto duration = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  LogOutcome(report, duration.count(), writer_.IsOverdue());
  if (report) filters_in_log_ = report->filters_in_log;
  const core::LockGuard lock(mutex_);
  last_attempt_ = start;
  status_.in_progress = false;
  RecordReport(report);
  status_.last_duration_ms = duration.count();
  if (!report) return tl::unexpected(report.error());
  status_.last_save_unix_s = clock_.WallMs() / 1000;
  return {};
}

}  // namespace bitsieve::server
