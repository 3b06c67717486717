// thread_slots.h: a slot for each thread, in a cache line of its own, which other threads can read: for what a thread
// does too often to share a cache line. A thread owns its slot from the first use until it ends; the next owner finds
// it as it was left. Threads beyond kOwned share one slot, whose member `shared` is true.
// Thread-safe: static functions. A slot is a struct of atomics, alignas(64), with a member `bool shared = false`.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bitsieve::core {

template <class Slot>
class ThreadSlots {
 public:
  static constexpr size_t kOwned = 64;

  // Returns the slot of the calling thread.
  static Slot& Mine() {
    if (mine_ == nullptr) [[unlikely]]
      mine_ = &Take();
    return *mine_;
  }
  // Calls use(slot) for all slots, those without an owner included.
  template <class Use>
  static void ForEach(const Use& use) {
    for (Slot& slot : all_.slots) use(slot);
  }

 private:
  struct Slots {
    constexpr Slots() { slots[kOwned].shared = true; }

    std::atomic<uint64_t> taken{0};  // a bit for each slot
    std::array<Slot, kOwned + 1> slots;
  };

  // Calls back at the end of a thread. Not a thread_local object with a destructor: the C library ends the process if
  // it finds no memory to register one.
  class ThreadEnd {
   public:
    ThreadEnd() { is_made_ = pthread_key_create(&key_, Release) == 0; }

    // False: the system refuses to call back at the end of this thread.
    bool ReleaseThere(size_t slot) const {
      return is_made_ && pthread_setspecific(key_, reinterpret_cast<void*>(slot + 1)) == 0;
    }

   private:
    static void Release(void* slot_plus_one) {
      mine_ = nullptr;
      ThreadSlots::Release(reinterpret_cast<uintptr_t>(slot_plus_one) - 1);
    }

    pthread_key_t key_;
    bool is_made_;
  };

  [[gnu::noinline]] static Slot& Take() {
    static const ThreadEnd thread_end;
    const size_t slot = TakeNumber();
    if (thread_end.ReleaseThere(slot)) return all_.slots[slot];
    Release(slot);
    return all_.slots[kOwned];
  }
  static size_t TakeNumber() {
    std::atomic<uint64_t>& all = all_.taken;
    uint64_t taken = all.load(std::memory_order_relaxed);
    while (~taken != 0) {
      const auto free = static_cast<size_t>(std::countr_one(taken));
      // The owner before has released what it wrote last.
      if (all.compare_exchange_weak(taken, taken | uint64_t{1} << free, std::memory_order_acquire)) return free;
    }
    return kOwned;
  }
  static void Release(size_t slot) {
    if (slot != kOwned) all_.taken.fetch_and(~(uint64_t{1} << slot), std::memory_order_release);
  }

  // Not on the heap: memory for it might be refused. It has no destructor: threads may end after the program's objects.
  static constinit inline Slots all_;
  static constinit inline thread_local Slot* mine_ = nullptr;
};

}  // namespace bitsieve::core
