#include "core/base/change_meter.h"

#include <pthread.h>

#include <array>
#include <bit>
#include <cstddef>

namespace bitsieve::core {

// A thread owns a slot from its first change until it ends. The count stays for the next owner.
class ChangeMeter::Slots {
 public:
  static constexpr size_t kOwned = 64;

  Slots() { slots_[kOwned].shared = true; }

  size_t Take() {
    uint64_t taken = taken_.load(std::memory_order_relaxed);
    while (~taken != 0) {
      const auto free = static_cast<size_t>(std::countr_one(taken));
      // The owner before has released its last count.
      if (taken_.compare_exchange_weak(taken, taken | uint64_t{1} << free, std::memory_order_acquire)) return free;
    }
    return kOwned;
  }
  void Release(size_t slot) {
    if (slot != kOwned) taken_.fetch_and(~(uint64_t{1} << slot), std::memory_order_release);
  }
  Slot& operator[](size_t slot) { return slots_[slot]; }

  uint64_t Total() const {
    uint64_t total = 0;
    for (const Slot& slot : slots_) total += slot.changes.load(std::memory_order_relaxed);
    return total;
  }

  static Slots& Instance() {
    static auto& slots = *new Slots;  // never freed: threads may end after it otherwise would have been
    return slots;
  }

 private:
  std::atomic<uint64_t> taken_{0};
  std::array<Slot, kOwned + 1> slots_;
};

// Not a thread_local object with a destructor: the C library ends the process if it finds no memory to register one.
class ChangeMeter::ThreadEnd {
 public:
  ThreadEnd() { is_made_ = pthread_key_create(&key_, Release) == 0; }

  // False: the system refuses to call back at the end of this thread.
  bool ReleaseThere(size_t slot) const {
    return is_made_ && pthread_setspecific(key_, reinterpret_cast<void*>(slot + 1)) == 0;
  }

 private:
  static void Release(void* slot_plus_one) {
    slot_ = nullptr;
    Slots::Instance().Release(reinterpret_cast<uintptr_t>(slot_plus_one) - 1);
  }

  pthread_key_t key_;
  bool is_made_;
};

ChangeMeter::Slot* ChangeMeter::TakeSlot() {
  static const ThreadEnd thread_end;
  const size_t slot = Slots::Instance().Take();
  if (thread_end.ReleaseThere(slot)) return &Slots::Instance()[slot];
  Slots::Instance().Release(slot);
  return &Slots::Instance()[Slots::kOwned];
}

uint64_t ChangeMeter::Total() { return Slots::Instance().Total(); }

}  // namespace bitsieve::core
