#include "module/engine_heap.h"

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/filter/filter.h"
#include "core/memory/memory_source.h"
#include "module/content_limit.h"
#include "module/engine_api.h"

namespace bitsieve::module {
namespace {

constexpr size_t kLine = 64;  // of a cache; the largest alignment of contents

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

// The word before an aligned block holds the address that was allocated.
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

// Returns what jemalloc takes for a block: classes of 16 bytes' distance up to 128, then four to each doubling.
size_t ClassBytes(size_t bytes) {
  constexpr size_t kUnit = 16, kClasses = 8;
  if (bytes <= kUnit / 2) return kUnit / 2;
  if (bytes <= kUnit * kClasses) return (bytes + kUnit - 1) / kUnit * kUnit;
  const size_t distance = std::bit_floor(bytes - 1) / 4;
  return (bytes + distance - 1) / distance * distance;
}

// Whether the engine's allocator is jemalloc, by what it says about blocks. Its blocks of whole lines of a cache begin
// at one, so contents need nothing before them; of others any block may lie anywhere.
bool AllocatorIsJemalloc() {
  if (engine::MallocSize == nullptr) return false;
  for (const size_t bytes : {100, 1025, 5000}) {
    void* const block = engine::Alloc(bytes);
    const size_t size = engine::MallocSize(block);
    engine::Free(block);
    if (size != ClassBytes(bytes)) return false;
  }
  return true;
}
constinit bool is_jemalloc = false;  // set once, before the first filter is made

void* AllocateZeroed(size_t bytes, size_t alignment) {
  if (bytes > SIZE_MAX / 2 || !ContentLimit::Grant(bytes)) return nullptr;
  const bool as_it_lies = is_jemalloc && bytes % kLine == 0;
  void* const memory = Calloc(as_it_lies ? bytes : bytes + sizeof(void*) + alignment - 1);
  if (memory == nullptr) ContentLimit::RecordRefusedBySystem(bytes);
  if (!as_it_lies) return Align(memory, alignment);
  if (reinterpret_cast<uintptr_t>(memory) % alignment == 0) return memory;
  engine::Free(memory);  // jemalloc has never been seen to do that
  return nullptr;
}

void FreeContent(void* memory, size_t bytes) {
  engine::Free(is_jemalloc && bytes % kLine == 0 ? memory : Allocated(memory));
}

size_t ContentBytes(size_t bytes) {
  if (!is_jemalloc) return core::SystemBlockBytes(bytes + sizeof(void*) + kLine - 1);
  return ClassBytes(bytes % kLine == 0 ? bytes : bytes + sizeof(void*) + kLine - 1);
}
size_t BlockBytes(size_t bytes) {
#ifdef BITSIEVE_ENGINE_NEW
  if (is_jemalloc) return ClassBytes(bytes);
#endif
  return core::SystemBlockBytes(bytes);
}

}  // namespace

void UseEngineHeap() {
  is_jemalloc = AllocatorIsJemalloc();
  core::UseMemorySource({AllocateZeroed, FreeContent, BlockBytes, ContentBytes});
  core::Filter::KeepNoNumbers();
}

}  // namespace bitsieve::module

// These operators serve only this module, as does its copy of the C++ library. The engine's Alloc never returns null.
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
