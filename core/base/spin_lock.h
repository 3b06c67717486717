// spin_lock.h: a lock for some dozen instructions at a time, of a single byte. Who waits spins a little, then gives the
// processor away, and sleeps when it takes long: the holder may have been put to sleep. Thread-safe.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

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
    constexpr int kSpins = 64;
    constexpr int kYields = 64;
    for (int tries = 0;; ++tries) {
      if (!held_.load(std::memory_order_relaxed) && try_lock()) return;
      if (tries < kSpins) continue;
      if (tries < kSpins + kYields) {
        sched_yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace bitsieve::core
