// change_meter.h: how many changes of filters this process has made: a running figure. A change costs its thread a load
// and a store in a cache line of its own; the total costs a load of each. A caller that needs the changes since some
// moment takes a difference. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace bitsieve::core {

class ChangeMeter {
 public:
  static void Count(uint64_t changes) {
    if (slot_ == nullptr) [[unlikely]]
      slot_ = TakeSlot();
    if (slot_->shared) [[unlikely]] {
      slot_->changes.fetch_add(changes, std::memory_order_relaxed);
    } else {
      slot_->changes.store(slot_->changes.load(std::memory_order_relaxed) + changes, std::memory_order_relaxed);
    }
  }
  // Modulo 2^64. Has all changes that the caller knows of.
  static uint64_t Total();

 private:
  // Relaxed: whatever informs the caller of a change also makes its count visible.
  struct alignas(64) Slot {
    std::atomic<uint64_t> changes{0};
    bool shared = false;  // by all threads that found no slot free
  };
  class Slots;
  class ThreadEnd;

  static Slot* TakeSlot();

  static constinit inline thread_local Slot* slot_ = nullptr;
};

}  // namespace bitsieve::core
