#include "tests/support/failing_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BITSIEVE_REPLACES_MALLOC 0
#else
#define BITSIEVE_REPLACES_MALLOC 1
#endif

namespace bitsieve::test {
namespace {

// Trivial, so that they can be used before and after everything else.
std::atomic<bool> armed{false};
std::atomic<bool> others{false};
std::atomic<uint64_t> seen{0}, refused{0}, first_refused{0}, refused_end{0};
thread_local bool arming_thread = false;

// Whether the allocation that is about to be made is one of those.
bool IsRefused() {
  if (!armed.load(std::memory_order_relaxed) || arming_thread == others.load(std::memory_order_relaxed)) return false;
  const uint64_t index = seen.fetch_add(1, std::memory_order_relaxed);
  if (index < first_refused.load(std::memory_order_relaxed) || index >= refused_end.load(std::memory_order_relaxed)) {
    return false;
  }
  refused.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

void RefuseMemory(Whose whose, uint64_t first, uint64_t count) {
  arming_thread = true;
  others = whose == Whose::kOtherThreads;
  seen = refused = 0;
  first_refused = first;
  refused_end = first + count;
  armed = true;
}

uint64_t AllowMemory() {
  armed = false;
  return seen;
}

uint64_t Refused() { return refused; }

}  // namespace bitsieve::test

using bitsieve::test::IsRefused;

#if BITSIEVE_REPLACES_MALLOC

// glibc's own, under the names that stay when its malloc is replaced.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

static void* NoMemory() {
  errno = ENOMEM;
  return nullptr;
}

void* malloc(size_t size) { return IsRefused() ? NoMemory() : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return IsRefused() ? NoMemory() : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return IsRefused() ? NoMemory() : __libc_realloc(memory, size); }
void* memalign(size_t alignment, size_t size) { return IsRefused() ? NoMemory() : __libc_memalign(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (file == -1 && IsRefused()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
}

#else

namespace {

void* Allocate(size_t size) {
  if (IsRefused()) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* AllocateAligned(size_t size, std::align_val_t alignment) {
  if (IsRefused()) throw std::bad_alloc();
  const auto align = static_cast<size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) { return AllocateAligned(size, alignment); }
void* operator new[](size_t size, std::align_val_t alignment) { return AllocateAligned(size, alignment); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return IsRefused() ? nullptr : std::malloc(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return IsRefused() ? nullptr : std::malloc(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

#endif
