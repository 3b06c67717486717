// log_job.h: work of the log that runs concurrently with the writing, on a thread of its own ("log-job").
// Confined to the log's thread, except for the work itself.
#pragma once

#include <atomic>
#include <functional>
#include <future>

#include "core/base/result.h"

namespace bitsieve::server {

class LogJob {
 public:
  using Work = std::function<core::Status()>;
  using OnEnd = std::function<void(const core::Status& outcome)>;

  // Returns false, having done nothing, if no thread, or no memory for one, is to be had. The job before is done.
  // Memory that is refused to the work is its outcome. Its thread calls `on_end` once is_done().
  [[nodiscard]] bool Begin(Work work, OnEnd on_end);
  // Returns whether a job has begun whose outcome was not taken yet.
  bool has_begun() const { return outcome_.valid(); }
  bool is_done() const { return has_begun() && is_done_.load(); }
  // Waits for the job, which has begun, and returns its outcome.
  core::Status TakeOutcome() { return outcome_.get(); }

 private:
  std::atomic<bool> is_done_{false};
  std::future<core::Status> outcome_;  // last: it waits for the thread, which uses the flag
};

}  // namespace bitsieve::server
