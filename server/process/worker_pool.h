// worker_pool.h: the threads that run long commands next to the event loops.
//
// Queues: one for each weight. kLarge work, which may take seconds, leaves one thread to kMany work, which takes
//         milliseconds. A connection waits for its command before it runs another, so that there is never more work
//         than there are clients.
// Stop:   work that runs is waited for; work that waits is dropped, and with it the reply.
// Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "commands/workers.h"
#include "core/base/mutex.h"

namespace bitsieve::server {

class WorkerPool final : public commands::Workers {
 public:
  // At least two, so that one can be left to kMany work.
  explicit WorkerPool(size_t threads = DefaultThreads());
  // Calls Stop().
  ~WorkerPool() override;

  void Run(commands::Weight weight, std::function<void()> work) override;
  void Stop();

  // One for each core, from 2 to 4.
  static size_t DefaultThreads();

 private:
  void RunThread();
  // False if there is nothing that this thread may run now.
  bool TakeWork(std::function<void()>& work, bool& is_large) BITSIEVE_REQUIRES(mutex_);

  const size_t most_large_;  // threads that kLarge work may take
  core::Mutex mutex_;
  core::ConditionVariable wake_;
  std::deque<std::function<void()>> many_ BITSIEVE_GUARDED_BY(mutex_);
  std::deque<std::function<void()>> large_ BITSIEVE_GUARDED_BY(mutex_);
  size_t running_large_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace bitsieve::server
