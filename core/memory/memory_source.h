// memory_source.h: where the memory for filters' contents comes from. By default it is the system; a host that must
// account for all memory itself replaces the source, for the whole process, before the first filter is made. Sources
// are thread-safe; replacing one is not.
#pragma once

#include <cstddef>

namespace bitsieve::core {

// Returns what the system's heap takes for a block of `bytes` bytes, with its own word before the block.
size_t SystemBlockBytes(size_t bytes);

struct MemorySource {
  // Returns `bytes` zero bytes, at least 1, at a multiple of `alignment`, a power of two; null if they are refused.
  void* (*allocate_zeroed)(size_t bytes, size_t alignment);
  // Frees memory that allocate_zeroed returned for `bytes` bytes.
  void (*free)(void* memory, size_t bytes);
  // Returns what `operator new` takes from the heap for a block of `bytes` bytes, as the allocator rounds up.
  size_t (*block_bytes)(size_t bytes) = SystemBlockBytes;
  // Returns the same for `bytes` bytes from allocate_zeroed, aligned to cache lines. Null: as for a block.
  size_t (*content_bytes)(size_t bytes) = nullptr;
};

// Large memory is mapped: zero pages on demand, in huge pages where the system has them (huge_pages.h), and unmapped
// by a thread that serves no client, if there is one (deferred_unmap.h).
extern const MemorySource kSystemMemory;

// The source in use.
const MemorySource& CurrentMemorySource();
inline size_t BlockBytes(size_t bytes) { return CurrentMemorySource().block_bytes(bytes); }
inline size_t ContentBytes(size_t bytes) {
  const MemorySource& source = CurrentMemorySource();
  return source.content_bytes == nullptr ? source.block_bytes(bytes) : source.content_bytes(bytes);
}
// To be called while no memory of the source before is in use.
void UseMemorySource(const MemorySource& source);

}  // namespace bitsieve::core
