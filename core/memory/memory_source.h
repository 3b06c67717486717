// memory_source.h: where the memory for filters' contents comes from. By default it is the system; a host that must
// account for all memory itself replaces the source, for the whole process, before the first filter is made. Sources
// are thread-safe; replacing one is not.
#pragma once

#include <cstddef>

namespace bitsieve::core {

struct MemorySource {
  // `bytes` zero bytes, at least 1, at a multiple of `alignment`, a power of two; null if they are refused.
  void* (*allocate_zeroed)(size_t bytes, size_t alignment);
  // What allocate_zeroed returned for so many bytes.
  void (*free)(void* memory, size_t bytes);
};

// Large memory is mapped: zero pages on demand, in huge pages where the system has them (huge_pages.h), and unmapped
// by a thread that serves no client, if there is one (deferred_unmap.h).
extern const MemorySource kSystemMemory;

// The source in use.
const MemorySource& CurrentMemorySource();
// To be called while no memory of the source before is in use.
void UseMemorySource(const MemorySource& source);

}  // namespace bitsieve::core
