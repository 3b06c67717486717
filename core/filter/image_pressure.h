// image_pressure.h: which filters must not be changed just now, because an image of theirs is being written and the
// memory for copies of what changes is nearly used up. A change that has begun is not held up: it goes beyond that
// memory. So a thread that begins one asks first, and tries again later; none waits while it holds a lock.
// Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "core/base/memory_budget.h"

namespace bitsieve::core {

class Filter;

class ImagePressure {
 public:
  // While it lives, an image of the filter takes memory from the pool.
  class Reading {
   public:
    // Both outlive it.
    Reading(const Filter& filter, const MemoryBudget& pool) {
      // Readings are few, a thread each. One that finds no slot is not known of: changes go beyond the pool.
      for (Slot& slot : slots_) {
        const Filter* free = nullptr;
        if (!slot.filter.compare_exchange_strong(free, &filter, std::memory_order_relaxed)) continue;
        slot.pool.store(&pool, std::memory_order_release);
        slot_ = &slot;
        readings_.fetch_add(1, std::memory_order_relaxed);
        return;
      }
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    ~Reading() {
      if (slot_ == nullptr) return;
      readings_.fetch_sub(1, std::memory_order_relaxed);
      slot_->pool.store(nullptr, std::memory_order_relaxed);
      slot_->filter.store(nullptr, std::memory_order_release);
    }

   private:
    friend class ImagePressure;
    struct Slot {
      std::atomic<const Filter*> filter;
      std::atomic<const MemoryBudget*> pool;
    };
    Slot* slot_ = nullptr;
  };

  // Whether an image of any filter, or of this one, is being written.
  static bool AnyReading() { return readings_.load(std::memory_order_relaxed) != 0; }
  static bool IsRead(const Filter& filter) {
    return std::ranges::any_of(
        slots_, [&](const Reading::Slot& slot) { return slot.filter.load(std::memory_order_relaxed) == &filter; });
  }
  // Whether MustWait may be true of any filter; one load while no image is being written.
  static bool MayBeActive() {
    if (readings_.load(std::memory_order_relaxed) == 0) return false;
    for (const Reading::Slot& slot : slots_) {
      if (IsShort(slot)) return true;
    }
    return false;
  }
  static bool MustWait(const Filter& filter) {
    for (const Reading::Slot& slot : slots_) {
      if (slot.filter.load(std::memory_order_relaxed) == &filter && IsShort(slot)) return true;
    }
    return false;
  }
  // Returns once MustWait is not true of the filter, for at most as long as its image is written. For threads that may
  // sleep.
  static void Await(const Filter& filter) {
    constexpr std::chrono::milliseconds kInterval{1};
    while (AnyReading() && MustWait(filter)) std::this_thread::sleep_for(kInterval);
  }

 private:
  // An eighth is left for the changes that have begun.
  static bool IsShort(const Reading::Slot& slot) {
    const MemoryBudget* const pool = slot.pool.load(std::memory_order_acquire);
    if (pool == nullptr) return false;
    const uint64_t limit = pool->limit_bytes();
    return limit != 0 && pool->used_bytes() >= limit - limit / 8;
  }

  // Relaxed: a change that races with the beginning or the end of a shortage may come on either side of it.
  static inline std::atomic<int> readings_{0};
  static inline std::array<Reading::Slot, 8> slots_{};
};

}  // namespace bitsieve::core
