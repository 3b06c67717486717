// change_meter.h: how many changes of filters this process has made: a running figure. A change costs its thread a load
// and a store in a cache line of its own; the total costs a load of each. A caller that needs the changes since some
// moment takes a difference. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/thread_slots.h"

namespace bitsieve::core {

class ChangeMeter {
 public:
  static void Count(uint64_t changes) {
    Slot& slot = ThreadSlots<Slot>::Mine();
    if (slot.shared) [[unlikely]] {
      slot.changes.fetch_add(changes, std::memory_order_relaxed);
    } else {
      slot.changes.store(slot.changes.load(std::memory_order_relaxed) + changes, std::memory_order_relaxed);
    }
  }
  // Modulo 2^64. Has all changes that the caller knows of.
  static uint64_t Total() {
    uint64_t total = 0;
    ThreadSlots<Slot>::ForEach([&total](const Slot& slot) { total += slot.changes.load(std::memory_order_relaxed); });
    return total;
  }

 private:
  // The count stays for the next owner. Relaxed: whatever informs the caller of a change also makes its count visible.
  struct alignas(64) Slot {
    std::atomic<uint64_t> changes{0};
    bool shared = false;
  };
};

}  // namespace bitsieve::core
