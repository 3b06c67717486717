// adder_gate.h: many adders at once, or one who rearranges what they add to. Adders hold it for a batch of some dozen
// items; somebody who rearranges comes rarely, goes before new adders, and stays for constant work. Lookups do not ask
// it at all. Thread-safe.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace bitsieve::core {

class AdderGate {
 public:
  void lock_shared() {
    while ((state_.fetch_add(1, std::memory_order_acquire) & kClosed) != 0) [[unlikely]] {
        state_.fetch_sub(1, std::memory_order_relaxed);
        while ((state_.load(std::memory_order_relaxed) & kClosed) != 0) sched_yield();
      }
  }
  void unlock_shared() { state_.fetch_sub(1, std::memory_order_release); }

  void lock() {
    while ((state_.fetch_or(kClosed, std::memory_order_acquire) & kClosed) != 0) sched_yield();
    while (state_.load(std::memory_order_acquire) != kClosed) sched_yield();
  }
  void unlock() { state_.fetch_and(~kClosed, std::memory_order_release); }

 private:
  static constexpr uint32_t kClosed = uint32_t{1} << 31;
  std::atomic<uint32_t> state_{0};  // adders inside, and whether it is closed to further ones
};

}  // namespace bitsieve::core
