// backoff.h: how to wait for what somebody else is about to do: spin a little, then give the processor away, and sleep
// when it takes long, for who is waited for may have been put to sleep. One for each wait. Thread-compatible.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

namespace bitsieve::core {

class Backoff {
 public:
  void Pause() {
    constexpr int kSpins = 64;
    constexpr int kYields = 64;
    if (++pauses_ <= kSpins) return;
    if (pauses_ <= kSpins + kYields) {
      sched_yield();
    } else {
      --pauses_;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  int pauses_ = 0;
};

}  // namespace bitsieve::core
