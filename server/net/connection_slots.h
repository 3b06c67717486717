// connection_slots.h: how many connections there are, and may be. A slot is taken on accepting and travels with the
// socket; it is free again when its holder is destroyed, on any thread.
// ConnectionSlots is thread-safe and outlives its slots. Slot is thread-compatible.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace bitsieve::server {

class ConnectionSlots {
 public:
  class Slot {
   public:
    Slot() = default;
    Slot(Slot&& other) noexcept : slots_(std::exchange(other.slots_, nullptr)) {}
    Slot& operator=(Slot&& other) noexcept {
      std::swap(slots_, other.slots_);
      return *this;
    }
    ~Slot() {
      if (slots_ != nullptr) slots_->taken_.fetch_sub(1, std::memory_order_relaxed);
    }
    explicit operator bool() const { return slots_ != nullptr; }

   private:
    friend class ConnectionSlots;
    explicit Slot(ConnectionSlots* slots) : slots_(slots) {}
    ConnectionSlots* slots_ = nullptr;
  };

  // An empty slot if `limit` are taken.
  Slot TryTake(uint32_t limit) {
    uint32_t taken = taken_.load(std::memory_order_relaxed);
    do {
      if (taken >= limit) return Slot();
    } while (!taken_.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed));
    return Slot(this);
  }

 private:
  std::atomic<uint32_t> taken_{0};  // relaxed: a counter, nothing is read on the strength of it
};

}  // namespace bitsieve::server
