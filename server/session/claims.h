// claims.h: keeps transactions that watch names apart. An EXEC that watches claims the names that it watches and those
// that its commands are about, from before it looks whether they were touched until its last command has run. Of two
// that want the same name at the same moment, on different event loops, one does not get it and gives up, as if the
// name had been touched: none waits, and of two that both read and then write one writes at most.
//
// Names share slots by their hash; a shared slot can make a transaction give up for nothing, while another one runs.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

namespace bitsieve::server {

class Claims {
 public:
  static constexpr size_t kSlots = 4096;
  using Slots = std::bitset<kSlots>;

  static size_t SlotOf(std::string_view name) { return std::hash<std::string_view>()(name) % kSlots; }

  // Slots that are claimed as long as it lives. Thread-compatible.
  class Held {
   public:
    Held() = default;
    Held(Held&& other) noexcept : claims_(std::exchange(other.claims_, nullptr)), slots_(other.slots_) {}
    Held& operator=(Held&& other) noexcept {
      std::swap(claims_, other.claims_);
      std::swap(slots_, other.slots_);
      return *this;
    }
    ~Held() {
      if (claims_ != nullptr) claims_->Release(slots_);
    }
    explicit operator bool() const { return claims_ != nullptr; }

   private:
    friend class Claims;
    Held(Claims& claims, const Slots& slots) : claims_(&claims), slots_(slots) {}

    Claims* claims_ = nullptr;
    Slots slots_;
  };

  // All of them, or nothing: false then. In order, so that of two that want the same slots one gets them.
  Held TryTake(const Slots& slots) {
    Slots taken;
    for (size_t i = slots._Find_first(); i < kSlots; i = slots._Find_next(i)) {
      // Acquire: what the last holder's commands did is seen by the look at the names.
      if (taken_[i].exchange(true, std::memory_order_acquire)) {
        Release(taken);
        return {};
      }
      taken.set(i);
    }
    return {*this, slots};
  }

 private:
  void Release(const Slots& slots) {
    for (size_t i = slots._Find_first(); i < kSlots; i = slots._Find_next(i)) {
      taken_[i].store(false, std::memory_order_release);
    }
  }

  std::array<std::atomic<bool>, kSlots> taken_{};
};

}  // namespace bitsieve::server
