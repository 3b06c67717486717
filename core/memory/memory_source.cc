#include "core/memory/memory_source.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/memory/deferred_unmap.h"
#include "core/memory/huge_pages.h"

namespace bitsieve::core {
namespace {

constexpr size_t kMapFromBytes = 128 * 1024;  // below, a page of its own would cost more than it saves
constexpr size_t kHugePageBytes = HugePages::kBytes;
constexpr size_t kPageBytes = 4096;

void* AllocateSmall(size_t bytes, size_t alignment) {
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory != nullptr) std::memset(memory, 0, bytes);
  return memory;
}

size_t SystemContentBytes(size_t bytes) {
  if (bytes < kMapFromBytes) return SystemBlockBytes(bytes);
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void* Map(size_t bytes) {
  void* const mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapping == MAP_FAILED ? nullptr : mapping;
}

void Unmap(uintptr_t begin, uintptr_t end) {
  if (begin != end) munmap(reinterpret_cast<void*>(begin), end - begin);
}

// Begins at a huge page's boundary: what is mapped too much, on either side, is given back untouched.
void* MapHuge(size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const size_t pages_bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* const mapping = Map(pages_bytes + kHugePageBytes);
  if (mapping == nullptr) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(mapping);
  const uintptr_t data = (begin + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  Unmap(begin, data);
  Unmap(data + pages_bytes, begin + pages_bytes + kHugePageBytes);
  auto* const memory = reinterpret_cast<std::byte*>(data);
  HugePages::Add(memory, bytes);
  return memory;
}

void* AllocateZeroed(size_t bytes, size_t alignment) {
  if (bytes < kMapFromBytes) return AllocateSmall(bytes, alignment);
  return bytes < kHugePageBytes ? Map(bytes) : MapHuge(bytes);
}

void Free(void* memory, size_t bytes) {
  if (bytes < kMapFromBytes) return std::free(memory);
  if (bytes >= kHugePageBytes) HugePages::Remove(static_cast<std::byte*>(memory));
  if (!DeferredUnmap::HandOver(memory, bytes)) munmap(memory, bytes);
}

}  // namespace

// glibc's: a word before the block, all in units of 16 bytes.
size_t SystemBlockBytes(size_t bytes) {
  constexpr size_t kUnit = 16, kFewest = 32;
  return std::max(kFewest, (bytes + sizeof(size_t) + kUnit - 1) / kUnit * kUnit);
}

constexpr MemorySource kSystemMemory{AllocateZeroed, Free, SystemBlockBytes, SystemContentBytes};

namespace {
constinit MemorySource current = kSystemMemory;
}  // namespace

const MemorySource& CurrentMemorySource() { return current; }

void UseMemorySource(const MemorySource& source) { current = source; }

}  // namespace bitsieve::core
