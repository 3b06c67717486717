// reader_pins.h: lets a writer free what readers may be looking at, though readers take no lock: a reader holds a pin
// while it looks; a writer puts something new in the place of the old, waits for a moment without pins, and frees the
// old. Readers hold pins for some dozen instructions at a time, and never wait. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/backoff.h"

namespace bitsieve::core {

class ReaderPins {
 public:
  // Held by a reader from before it loads the pointer, which it does in sequentially consistent order.
  class Pin {
   public:
    explicit Pin(ReaderPins& pins) : pins_(pins) { pins_.count_.fetch_add(1, std::memory_order_seq_cst); }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin() { pins_.count_.fetch_sub(1, std::memory_order_release); }

   private:
    ReaderPins& pins_;
  };

  // Called by the writer after it stored the new pointer, in sequentially consistent order: a reader that pins later
  // loads that one.
  void AwaitNone() const {
    for (Backoff backoff; count_.load(std::memory_order_seq_cst) != 0;) backoff.Pause();
  }

 private:
  std::atomic<uint32_t> count_{0};
};

}  // namespace bitsieve::core
