#include "server/process/worker_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/change_meter.h"
#include "core/base/thread_name.h"

namespace bitsieve::server {

using namespace commands;

size_t WorkerPool::DefaultThreads() { return std::clamp<size_t>(std::thread::hardware_concurrency(), 2, 4); }

WorkerPool::WorkerPool(size_t threads) : most_large_(std::max<size_t>(threads, 2) - 1) {
  for (size_t i = 0; i <= most_large_; ++i) threads_.emplace_back([this] { RunThread(); });
}

WorkerPool::~WorkerPool() { Stop(); }

void WorkerPool::Run(Weight weight, std::function<void()> work) {
  const core::LockGuard lock(mutex_);
  if (stopping_) return;
  (weight == Weight::kLarge ? large_ : many_).push_back(std::move(work));
  wake_.NotifyOne();
}

void WorkerPool::Stop() {
  std::deque<std::function<void()>> dropped;
  {
    const core::LockGuard lock(mutex_);
    stopping_ = true;
    dropped.swap(many_);
    std::move(large_.begin(), large_.end(), std::back_inserter(dropped));
    large_.clear();
    wake_.NotifyAll();
  }
  dropped.clear();  // outside of the lock, and before the wait
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool WorkerPool::TakeWork(std::function<void()>& work, bool& is_large) {
  is_large = many_.empty();
  if (is_large && (large_.empty() || running_large_ == most_large_)) return false;
  std::deque<std::function<void()>>& queue = is_large ? large_ : many_;
  work = std::move(queue.front());
  queue.pop_front();
  running_large_ += is_large;
  return true;
}

void WorkerPool::RunThread() {
  core::NameThread("worker");
  core::ChangeMeter::Count(0);  // takes what it needs now
  const core::LockGuard lock(mutex_);
  while (true) {
    std::function<void()> work;
    bool is_large = false;
    while (!stopping_ && !TakeWork(work, is_large)) wake_.Wait(mutex_);
    if (work == nullptr) return;
    {
      const core::UnlockGuard unlocked(mutex_);
      work();
      work = nullptr;  // what it holds dies outside of the lock
    }
    running_large_ -= is_large;
  }
}

}  // namespace bitsieve::server
