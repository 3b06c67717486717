// out_of_memory.h: refused memory as an error like any other, for a unit of work that leaves nothing half done.
// Thread-safe: free functions.
#pragma once

#include <chrono>
#include <new>
#include <thread>

#include "core/base/result.h"

namespace bitsieve::core {

// How long a thread that needs memory, and cannot give up, waits before it tries again.
inline constexpr std::chrono::milliseconds kOutOfMemoryPause{1};

inline constexpr const char* kOutOfMemoryText = "out of memory";  // short enough for a string that allocates nothing

// Returns the result of `work`, a Status or a Result; kOutOfMemory if it throws std::bad_alloc.
template <class Work>
auto OrOutOfMemory(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kOutOfMemory, kOutOfMemoryText);
  }
}

// Calls `work`, which has done nothing if it throws std::bad_alloc, until it returns. Serves work that must not be
// given up, such as arming a timer again or notifying a caller that waits.
template <class Work>
auto UntilThereIsMemory(const Work& work) -> decltype(work()) {
  for (;; std::this_thread::sleep_for(kOutOfMemoryPause)) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

}  // namespace bitsieve::core
