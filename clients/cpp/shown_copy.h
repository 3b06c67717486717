// shown_copy.h: an object that many threads read, without a lock and without waiting, while one thread now and then
// puts another one in its place and frees the old one.
//
// Idea     A reader writes into a slot of its own which object it reads (a hazard pointer: Michael, "Hazard Pointers:
//          Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS 15(6), 2004), and looks again whether the object
//          is still shown. The writer shows the new object and waits until no slot has the old one. For that, the
//          reader's store must become visible before its second look: instead of a fence in each reader, which costs
//          as much as a lookup, the writer lets the system put one into all running threads (membarrier(2)). Where the
//          system does not have that, readers use the fence.
// Threads  thread-safe, Show by one thread at a time. Not in signal handlers; `use` must not read another one.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/backoff.h"
#include "core/base/reader_pins.h"
#include "core/base/thread_slots.h"

namespace bitsieve::clients {

template <class T>
class ShownCopy {
 public:
  // Returns use(object). An object has been shown.
  template <class Use>
  auto Read(const Use& use) const {
    Slot& slot = core::ThreadSlots<Slot>::Mine();
    if (slot.shared) [[unlikely]] {
      const core::ReaderPins::Pin pin(slot.pins[slot.turn.load(std::memory_order_relaxed) % 2]);
      return use(std::as_const(*shown_.load(std::memory_order_seq_cst)));
    }
    const Hold hold(slot, shown_);
    return use(std::as_const(*hold.object));
  }

  // Returns the object; for the thread that shows.
  T* get() const { return owned_.get(); }

  // Shows an object in place of the one before, and waits until no reader uses that, which is a lookup's time.
  void Show(std::unique_ptr<T> object) {
    shown_.store(object.get(), std::memory_order_seq_cst);
    const std::unique_ptr<T> old = std::exchange(owned_, std::move(object));
    if (has_barrier_) Barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if (old == nullptr) return;
    core::ThreadSlots<Slot>::ForEach([&old](Slot& slot) {
      for (core::Backoff backoff; slot.reading.load(std::memory_order_seq_cst) == old.get();) backoff.Pause();
      if (slot.shared) AwaitTurns(slot);
    });
  }

 private:
  struct alignas(64) Slot {
    std::atomic<const T*> reading{nullptr};
    bool shared = false;
    // Members of the slot that threads share, who take turns.
    std::atomic<uint32_t> turn{0};  // relaxed: a reader may be late, hence two turns
    core::ReaderPins pins[2];
  };

  // Waits until the readers of before have gone, although others come without a pause: those pin the other turn.
  static void AwaitTurns(Slot& slot) {
    for (int i = 0; i < 2; ++i) {
      const uint32_t before = slot.turn.fetch_add(1, std::memory_order_seq_cst);
      slot.pins[before % 2].AwaitNone();
    }
  }
  struct Hold {
    Hold(Slot& its_slot, const std::atomic<T*>& shown) : slot(its_slot) {
      do {
        object = shown.load(std::memory_order_acquire);
        if (has_barrier_) {
          slot.reading.store(object, std::memory_order_relaxed);
          std::atomic_signal_fence(std::memory_order_seq_cst);  // for the compiler
        } else {
          slot.reading.store(object, std::memory_order_seq_cst);
        }
      } while (shown.load(std::memory_order_seq_cst) != object);
    }
    ~Hold() { slot.reading.store(nullptr, std::memory_order_release); }

    Slot& slot;
    const T* object;
  };

  static bool Barrier(int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }
  // Whether the system has the barrier, for which the process is then registered. Known before any object is shown.
  static inline const bool has_barrier_ = Barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

  std::atomic<T*> shown_{nullptr};
  std::unique_ptr<T> owned_;
};

}  // namespace bitsieve::clients
