// deferred_unmap.h: large memory that died, waiting for a thread whose time is its own to give it back to the system:
// a gigabyte takes that some 50 ms, which an event loop does not have. The bytes left the memory budget before; so that
// the memory of the process follows soon, no more than kMaxBytes wait, and what dies then is unmapped at once.
// Thread-safe. What waits is chained through its own first bytes: handing over needs no memory and cannot fail by it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bitsieve::core {

class DeferredUnmap {
 public:
  static constexpr size_t kLeastBytes = 1 << 20;  // less is unmapped as soon as handed over
  static constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

  // Takes the mapping over; false if it is the caller's to unmap: it is small, no server is serving, or too much waits.
  static bool HandOver(void* mapping, size_t bytes);

  // To be called by threads that serve: from when on mappings are handed over, and until when.
  static void BeginServing();
  static void EndServing();
  // Unmaps all that waits, a slice at a time, so that other system calls about memory come in between.
  static void UnmapAll();
  // How often something was handed over, or Wake was called; and until when it is more often than `seen`.
  static uint32_t Wakes();
  static void AwaitWake(uint32_t seen);
  static void Wake();
};

}  // namespace bitsieve::core
