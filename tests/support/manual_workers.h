// manual_workers.h: workers whose work runs when the test runs it, on the test's thread. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "commands/workers.h"

namespace bitsieve::test {

class ManualWorkers final : public commands::Workers {
 public:
  void Run(commands::Weight weight, std::function<void()> work) override {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    waiting_.emplace_back(weight, std::move(work));
    changed_.notify_all();
  }
  // Drops what waits and what comes, as the server's workers do: before anything ends that the work uses.
  void Stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    const auto dropped = std::exchange(waiting_, {});
    lock.unlock();
  }
  // Waits for work, runs the oldest, and returns what it was given as.
  commands::Weight RunNext() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    const auto [weight, work] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    return weight;
  }
  size_t Waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<commands::Weight, std::function<void()>>> waiting_;  // protected by mutex_
  bool stopped_ = false;                                                    // likewise
};

}  // namespace bitsieve::test
