// failing_memory.h: allocations that are counted, or refused, at a test's request. An executable that links
// failing_memory.cc has its operator new, and, where no sanitizer needs them for itself, malloc, its kin, and mmap
// replaced. The same file is a library to preload into a whole server (LD_PRELOAD): the variable TEST_MEMORY_CONTROL
// then names a file that holds the MemoryControl below, which another process maps and writes; tests/stress/
// memory_control.py is that other side. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bitsieve::test {

// Selects the threads whose allocations count.
enum class Whose : uint32_t { kNobodys, kThisThreads, kOtherThreads, kAllThreads, kNamedThreads };

// Where an allocation was refused, or where the process died.
struct MemoryRecord {
  static constexpr size_t kFrames = 40;

  uint64_t number;  // of the refusal since the process started, from 1 on; of a death, the signal
  uint64_t bytes;
  uint32_t thread_id;
  uint32_t frames;
  char thread_name[16];
  uint64_t addresses[kFrames];  // return addresses, innermost first
};

// Plain integers at fixed offsets, since Python reads and writes them as well.
struct MemoryControl {
  static constexpr size_t kRecords = 64;

  std::atomic<uint32_t> whose;
  uint32_t padding;
  char thread_name[16];           // of kNamedThreads; a whole name, or its beginning and '*'
  std::atomic<uint64_t> seen;     // allocations that counted since it was armed
  std::atomic<uint64_t> first;    // refused are the first-th, from 0 on, and
  std::atomic<uint64_t> end;      // those before this one,
  std::atomic<uint64_t> every;    // each so-many-th of them
  std::atomic<uint64_t> refused;  // since it was armed
  std::atomic<uint64_t> records;  // written since the process started; the last kRecords are kept
  std::atomic<uint64_t> is_dead;  // `death` is written
  MemoryRecord death;
  MemoryRecord record[kRecords];
};

// Refuses the `first`-th allocation from now on, 0 for the next one, and `count` - 1 more after it, until AllowMemory.
void RefuseMemory(Whose whose, uint64_t first, uint64_t count = 1);
// Counts allocations without refusing any: AllowMemory returns how many there were.
inline void CountMemory(Whose whose) { RefuseMemory(whose, UINT64_MAX, 0); }
// Stops refusing and returns how many allocations there were since RefuseMemory or CountMemory.
uint64_t AllowMemory();
// Returns how many allocations were refused since RefuseMemory.
uint64_t Refused();

}  // namespace bitsieve::test
