// spin_lock.h: a lock for some dozen instructions at a time, of a single byte. Who waits spins a little, then gives the
// processor away, and sleeps when it takes long. Thread-safe.
#pragma once

#include <atomic>

#include "core/base/backoff.h"

namespace bitsieve::core {

class SpinLock {
 public:
  void lock() {
    if (held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      LockSlowly();
  }
  bool try_lock() { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  void LockSlowly() {
    for (Backoff backoff; held_.load(std::memory_order_relaxed) || !try_lock();) backoff.Pause();
  }

  std::atomic<bool> held_{false};
};

}  // namespace bitsieve::core
