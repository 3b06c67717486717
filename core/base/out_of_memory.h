// out_of_memory.h: refused memory as an error like any other, for a unit of work that leaves nothing half done.
// Thread-safe: free functions.
#pragma once

#include <chrono>
#include <new>

#include "core/base/result.h"

namespace bitsieve::core {

// How long a thread that has to go on without memory waits before it tries again.
inline constexpr std::chrono::milliseconds kOutOfMemoryPause{1};

inline constexpr const char* kOutOfMemoryText = "out of memory";  // short enough for a string that allocates nothing

// What `work` returns, a Status or a Result; an error if it throws std::bad_alloc.
template <class Work>
auto OrOutOfMemory(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Fail(ErrorCode::kOutOfMemory, kOutOfMemoryText);
  }
}

}  // namespace bitsieve::core
