// engine_heap.h: all memory of the module is the engine's: `operator new` and `delete` call its allocator, and so does
// the core's memory source. So the engine counts filters in used_memory, and evicts by them. A sanitizer keeps the
// heap's own `operator new`.
//
// A limit may be set for what a command takes for the contents of a filter; what is beyond is refused before anything
// is taken. It is the calling thread's alone.
#pragma once

#include <cstdint>

namespace bitsieve::module {

// To be called once, before the first filter is made.
void UseEngineHeap();

// While it lives, this thread takes at most `bytes` for contents of filters; 0 is no limit. One at a time.
class ContentLimit {
 public:
  // Whether a limit that was reached is to hold: it is called at most once, and then for the rest is as it said.
  using Applies = bool (*)(void* data);

  ContentLimit(uint64_t bytes, Applies applies, void* data);
  ContentLimit(const ContentLimit&) = delete;
  ContentLimit& operator=(const ContentLimit&) = delete;
  ~ContentLimit();

  // From now on a filter of so many bytes is there, which further contents come to; 0: they are of a new one.
  static void SetHeld(uint64_t bytes);
  // Of this one: it refused something.
  static bool WasReached();
};

}  // namespace bitsieve::module
