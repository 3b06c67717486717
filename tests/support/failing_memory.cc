#include "tests/support/failing_memory.h"

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BITSIEVE_REPLACES_MALLOC 0
#else
#define BITSIEVE_REPLACES_MALLOC 1
#endif
// A preloaded library's other thread-local variables would be allocated when they are first used.
#define BITSIEVE_IN_STATIC_TLS __attribute__((tls_model("initial-exec")))

namespace bitsieve::test {
namespace {

// Trivial, so that they can be used before and after everything else.
MemoryControl own_control;
std::atomic<MemoryControl*> control{&own_control};
BITSIEVE_IN_STATIC_TLS thread_local bool arming_thread = false;
BITSIEVE_IN_STATIC_TLS thread_local bool recording = false;

bool HasName(const char* wanted) {
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  const char* const star = std::strchr(wanted, '*');
  return star == nullptr ? std::strcmp(name, wanted) == 0 : std::strncmp(name, wanted, star - wanted) == 0;
}

bool Counts(const MemoryControl& memory) {
  switch (static_cast<Whose>(memory.whose.load(std::memory_order_acquire))) {
    case Whose::kThisThreads:
      return arming_thread;
    case Whose::kOtherThreads:
      return !arming_thread;
    case Whose::kAllThreads:
      return true;
    case Whose::kNamedThreads:
      return HasName(memory.thread_name);
    default:
      return false;
  }
}

void Fill(MemoryRecord& record, uint64_t number, uint64_t bytes) {
  void* addresses[MemoryRecord::kFrames];
  recording = true;
  const int frames = backtrace(addresses, MemoryRecord::kFrames);
  recording = false;
  record.number = number;
  record.bytes = bytes;
  record.thread_id = static_cast<uint32_t>(syscall(SYS_gettid));
  prctl(PR_GET_NAME, record.thread_name);
  for (int i = 0; i < frames; ++i) record.addresses[i] = reinterpret_cast<uint64_t>(addresses[i]);
  record.frames = static_cast<uint32_t>(frames);
}

// Whether the allocation that is about to be made is one of those.
bool IsRefused(uint64_t bytes) {
  MemoryControl& memory = *control.load(std::memory_order_relaxed);
  if (recording || !Counts(memory)) return false;
  const uint64_t index = memory.seen.fetch_add(1, std::memory_order_relaxed);
  const uint64_t first = memory.first.load(std::memory_order_relaxed);
  if (index < first || index >= memory.end.load(std::memory_order_relaxed)) return false;
  if ((index - first) % std::max<uint64_t>(1, memory.every.load(std::memory_order_relaxed)) != 0) return false;
  memory.refused.fetch_add(1, std::memory_order_relaxed);
  if (&memory != &own_control) {
    const uint64_t number = memory.records.fetch_add(1, std::memory_order_relaxed) + 1;
    Fill(memory.record[(number - 1) % MemoryControl::kRecords], number, bytes);
  }
  return true;
}

// The signal's default action follows, as it would have without this.
void RecordDeath(int signal) {
  MemoryControl& memory = *control.load(std::memory_order_relaxed);
  if (memory.is_dead.exchange(1) == 0) Fill(memory.death, static_cast<uint64_t>(signal), 0);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

__attribute__((constructor)) void MapControl() {
  const char* const path = std::getenv("TEST_MEMORY_CONTROL");
  if (path == nullptr) return;
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0));
  void* const mapped =
      reinterpret_cast<void*>(syscall(SYS_mmap, 0, sizeof(MemoryControl), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  close(file);
  if (mapped == MAP_FAILED) return;
  void* first[1];
  backtrace(first, 1);  // the first call loads a library
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, RecordDeath);
  control = static_cast<MemoryControl*>(mapped);
}

}  // namespace

void RefuseMemory(Whose whose, uint64_t first, uint64_t count) {
  arming_thread = true;
  own_control.seen = own_control.refused = 0;
  own_control.first = first;
  own_control.end = first + count;
  own_control.whose = static_cast<uint32_t>(whose);
}

uint64_t AllowMemory() {
  own_control.whose = static_cast<uint32_t>(Whose::kNobodys);
  return own_control.seen;
}

uint64_t Refused() { return own_control.refused; }

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

void* malloc(size_t size) { return IsRefused(size) ? NoMemory() : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return IsRefused(count * size) ? NoMemory() : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return IsRefused(size) ? NoMemory() : __libc_realloc(memory, size); }
void* memalign(size_t alignment, size_t size) {
  return IsRefused(size) ? NoMemory() : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (file == -1 && IsRefused(bytes)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
}

#else

namespace {

void* Allocate(size_t size) {
  if (IsRefused(size)) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* AllocateAligned(size_t size, std::align_val_t alignment) {
  if (IsRefused(size)) throw std::bad_alloc();
  const auto align = static_cast<size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) { return AllocateAligned(size, alignment); }
void* operator new[](size_t size, std::align_val_t alignment) { return AllocateAligned(size, alignment); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return IsRefused(size) ? nullptr : std::malloc(size);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return IsRefused(size) ? nullptr : std::malloc(size);
}
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
