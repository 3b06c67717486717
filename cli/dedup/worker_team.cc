#include "cli/dedup/worker_team.h"

namespace bitsieve::cli {

WorkerTeam::WorkerTeam(size_t workers) {
  for (size_t worker = 1; worker < workers; ++worker) threads_.emplace_back([this, worker] { RunThread(worker); });
}

WorkerTeam::~WorkerTeam() {
  {
    const core::LockGuard lock(mutex_);
    is_stopping_ = true;
  }
  begin_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerTeam::Run(size_t tasks, const Task& task) {
  {
    const core::LockGuard lock(mutex_);
    task_ = &task;
    tasks_ = tasks;
    next_.store(0, std::memory_order_relaxed);
    busy_ = threads_.size();
    ++step_;
  }
  begin_.NotifyAll();
  DoTasks(0);
  const core::LockGuard lock(mutex_);
  while (busy_ != 0) end_.Wait(mutex_);
}

void WorkerTeam::RunThread(size_t worker) {
  uint64_t done = 0;
  while (true) {
    {
      const core::LockGuard lock(mutex_);
      while (step_ == done && !is_stopping_) begin_.Wait(mutex_);
      if (is_stopping_) return;
      done = step_;
    }
    DoTasks(worker);
    const core::LockGuard lock(mutex_);
    if (--busy_ == 0) end_.NotifyOne();
  }
}

void WorkerTeam::DoTasks(size_t worker) {
  while (true) {
    const size_t task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    (*task_)(task, worker);
  }
}

}  // namespace bitsieve::cli
