// worker_team.h: threads that do the tasks of one step together, the caller among them. A step begins when the one
// before has ended, so tasks of different steps may use the same memory without a lock. Confined to the thread that
// made it; tasks run on several.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "core/base/mutex.h"

namespace bitsieve::cli {

class WorkerTeam {
 public:
  // Called with the number of a task and the number of the worker that does it.
  using Task = std::function<void(size_t task, size_t worker)>;

  explicit WorkerTeam(size_t workers);
  ~WorkerTeam();
  WorkerTeam(const WorkerTeam&) = delete;
  WorkerTeam& operator=(const WorkerTeam&) = delete;

  size_t size() const { return threads_.size() + 1; }
  // Calls task(0..tasks-1), each once, and returns when all calls have returned. Tasks do not throw.
  void Run(size_t tasks, const Task& task);

 private:
  void RunThread(size_t worker);
  void DoTasks(size_t worker);

  core::Mutex mutex_;
  core::ConditionVariable begin_;
  core::ConditionVariable end_;
  uint64_t step_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  size_t busy_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  bool is_stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  // The step, written under the mutex before it begins.
  const Task* task_ = nullptr;
  size_t tasks_ = 0;
  std::atomic<size_t> next_{0};       // relaxed: the mutex orders steps
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace bitsieve::cli
