// spin_lock.h: a lock for some dozen instructions at a time. A thread that waits spins a little, then sleeps (Backoff).
// It is not fair: a thread that takes the lock again and again lets others in between by GiveWay. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "core/base/backoff.h"
#include "core/base/mutex.h"

namespace bitsieve::core {

class BITSIEVE_CAPABILITY("spin lock") SpinLock {
 public:
  void lock() BITSIEVE_ACQUIRE() {
    if (IsOnlyThread()) return held_.store(true, std::memory_order_relaxed);
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      LockSlowly();
  }
  bool try_lock() BITSIEVE_TRY_ACQUIRE(true) { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() BITSIEVE_RELEASE() { held_.store(false, std::memory_order_release); }
  // For the analysis alone, as Mutex::AssertHeld.
  void AssertHeld() const BITSIEVE_ASSERT_CAPABILITY(this) {}

  // For a thread that has just let go of the lock and takes it again at once. If others wait, it sleeps for longer than
  // they sleep between two looks at the lock. Not on an event loop.
  void GiveWay() {
    constexpr std::chrono::microseconds kPause(100);
    if (TakeWaiting()) std::this_thread::sleep_for(kPause);
  }
  // Whether a thread has waited since the last call.
  bool TakeWaiting() {
    return waiting_.load(std::memory_order_relaxed) && waiting_.exchange(false, std::memory_order_relaxed);
  }

 private:
  // Returns whether the process surely has no other thread. Then no thread holds the lock, and this one does not hold
  // it when it starts another. An exchange would wait until all memory that was written before has been loaded into the
  // cache, for every item that is added.
  static bool IsOnlyThread() {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
  }
  // Not inlined: the registers that it needs would be saved by every function that takes a lock.
  [[gnu::noinline]] void LockSlowly() BITSIEVE_ACQUIRE() {
    for (Backoff backoff; held_.load(std::memory_order_relaxed) || !try_lock();) {
      waiting_.store(true, std::memory_order_relaxed);
      backoff.Pause();
    }
  }

  std::atomic<bool> held_{false};
  std::atomic<bool> waiting_{false};  // relaxed: a hint
};

}  // namespace bitsieve::core
