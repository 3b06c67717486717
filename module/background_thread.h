// background_thread.h: a thread beside the engine's, for work that would hold the engine up; and the lock that makes
// the engine hold still. The thread starts with the first job and lives as long as the process: a module with data
// types is never unloaded. BackgroundThread is thread-safe.
#pragma once

#include <deque>
#include <functional>

#include "core/base/mutex.h"
#include "module/engine_api.h"

namespace bitsieve::module {

class BackgroundThread {
 public:
  // Runs `job`, which must not throw, after those given earlier. `context` is for EngineLock. Throws std::bad_alloc or
  // std::system_error, and then does not run it.
  using Job = std::function<void(engine::Context* context)>;
  void Run(Job job);

 private:
  void Start() BITSIEVE_REQUIRES(mutex_);
  void RunJobs();

  core::Mutex mutex_;
  core::ConditionVariable wake_;
  std::deque<Job> jobs_ BITSIEVE_GUARDED_BY(mutex_);
  bool started_ BITSIEVE_GUARDED_BY(mutex_) = false;
};

// While it lives, the engine's main thread runs no command and forks no child.
class EngineLock {
 public:
  explicit EngineLock(engine::Context* context) : context_(context) { engine::ThreadSafeContextLock(context_); }
  EngineLock(const EngineLock&) = delete;
  EngineLock& operator=(const EngineLock&) = delete;
  ~EngineLock() { engine::ThreadSafeContextUnlock(context_); }

 private:
  engine::Context* const context_;
};

}  // namespace bitsieve::module
