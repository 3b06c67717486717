// backoff.h: how to wait for what another thread is about to do: spin for some microseconds, then sleep, since the
// thread that is waited for may have been put to sleep. Never sched_yield: the kernel takes it for leave to let others
// run for a whole slice, milliseconds each, before it comes back. One for each wait. Thread-compatible.
#pragma once

#include <chrono>
#include <thread>

namespace bitsieve::core {

class Backoff {
 public:
  void Pause() {
    constexpr int kSpins = 256;
    if (pauses_ == kSpins) return std::this_thread::sleep_for(std::chrono::microseconds(50));
    ++pauses_;
    Spin();
  }

 private:
  // Tens of nanoseconds, in which the other thread of the core gets its resources.
  static void Spin() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  int pauses_ = 0;
};

}  // namespace bitsieve::core
