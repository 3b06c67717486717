#include "module/background_thread.h"

#include <csignal>
#include <thread>
#include <utility>

namespace bitsieve::module {

void BackgroundThread::Run(Job job) {
  const core::LockGuard lock(mutex_);
  if (!started_) Start();
  jobs_.push_back(std::move(job));
  wake_.NotifyOne();
}

// Signals are the engine's.
void BackgroundThread::Start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] { RunJobs(); }).detach();
    started_ = true;
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void BackgroundThread::RunJobs() {
  engine::Context* const context = engine::GetThreadSafeContext(nullptr);
  const core::LockGuard lock(mutex_);
  while (true) {
    while (jobs_.empty()) wake_.Wait(mutex_);
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    const core::UnlockGuard unlocked(mutex_);
    job(context);
  }
}

}  // namespace bitsieve::module
