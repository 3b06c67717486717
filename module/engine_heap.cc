#include "module/engine_heap.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/memory/memory_source.h"
#include "module/engine_api.h"

namespace bitsieve::module {
namespace {

struct Limit {
  uint64_t most = 0;  // 0: none
  uint64_t held = 0;
  ContentLimit::Applies applies = nullptr;
  void* data = nullptr;
  bool reached = false;
};
constinit thread_local Limit limit;

// Whether so many bytes more are allowed. Counts them.
bool Grant(size_t bytes) {
  if (limit.most == 0) return true;
  if (bytes <= limit.most && limit.held <= limit.most - bytes) {
    limit.held += bytes;
    return true;
  }
  limit.reached = limit.applies(limit.data);
  if (!limit.reached) limit.most = 0;
  return !limit.reached;
}

// Alloc and Calloc end the engine if the system refuses; TryAlloc does not, but what it returns is not zero. So a large
// block is tried first. Calloc leaves its pages untouched, if they are fresh.
void* Calloc(size_t bytes) {
  constexpr size_t kTryFrom = 1 << 20;
  if (bytes >= kTryFrom) {
    void* const probe = engine::TryAlloc(bytes);
    if (probe == nullptr) return nullptr;
    engine::Free(probe);
  }
  return engine::Calloc(1, bytes);
}

// The word before an aligned block is what was allocated.
void* Align(void* memory, size_t alignment) {
  if (memory == nullptr) return nullptr;
  const auto begin = (reinterpret_cast<uintptr_t>(memory) + sizeof(void*) + alignment - 1) / alignment * alignment;
  std::memcpy(reinterpret_cast<char*>(begin) - sizeof(void*), &memory, sizeof memory);
  return reinterpret_cast<void*>(begin);
}
void* Allocated(void* aligned) {
  void* memory = nullptr;
  std::memcpy(&memory, static_cast<char*>(aligned) - sizeof(void*), sizeof memory);
  return memory;
}

void* AllocateZeroed(size_t bytes, size_t alignment) {
  if (bytes > SIZE_MAX / 2 || !Grant(bytes)) return nullptr;
  return Align(Calloc(bytes + sizeof(void*) + alignment - 1), alignment);
}

void FreeContent(void* memory, size_t /*bytes*/) { engine::Free(Allocated(memory)); }

}  // namespace

void UseEngineHeap() { core::UseMemorySource({AllocateZeroed, FreeContent}); }

ContentLimit::ContentLimit(uint64_t bytes, Applies applies, void* data) {
  limit = {.most = bytes, .applies = applies, .data = data};
}
ContentLimit::~ContentLimit() { limit = {}; }
void ContentLimit::SetHeld(uint64_t bytes) { limit.held = bytes; }
bool ContentLimit::WasReached() { return limit.reached; }

}  // namespace bitsieve::module

// Of this module alone, as its copy of the C++ library is. The engine's Alloc never returns null.
#ifdef BITSIEVE_ENGINE_NEW
namespace {

void* Take(size_t bytes) {
  if (bitsieve::engine::Alloc == nullptr) std::abort();  // a static object that allocates before the module is loaded
  return bitsieve::engine::Alloc(bytes == 0 ? 1 : bytes);
}
void Give(void* memory) {
  if (memory != nullptr) bitsieve::engine::Free(memory);
}
void* TakeAligned(size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return bitsieve::module::Align(Take(bytes + sizeof(void*) + align - 1), align);
}
void GiveAligned(void* block) {
  if (block != nullptr) Give(bitsieve::module::Allocated(block));
}

}  // namespace

void* operator new(size_t bytes) { return Take(bytes); }
void* operator new[](size_t bytes) { return Take(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Take(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Take(bytes); }
void operator delete(void* memory) noexcept { Give(memory); }
void operator delete[](void* memory) noexcept { Give(memory); }
void operator delete(void* memory, size_t) noexcept { Give(memory); }
void operator delete[](void* memory, size_t) noexcept { Give(memory); }
void* operator new(size_t bytes, std::align_val_t align) { return TakeAligned(bytes, align); }
void* operator new[](size_t bytes, std::align_val_t align) { return TakeAligned(bytes, align); }
void operator delete(void* memory, std::align_val_t) noexcept { GiveAligned(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { GiveAligned(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { GiveAligned(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { GiveAligned(memory); }
#endif
