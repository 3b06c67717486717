// failing_memory.h: allocations that are counted, or refused, at a test's request. An executable that links
// failing_memory.cc has its operator new, and, where no sanitizer needs them for itself, malloc, its kin, and mmap
// replaced. Thread-safe.
#pragma once

#include <cstdint>

namespace bitsieve::test {

// Whose allocations count.
enum class Whose { kThisThreads, kOtherThreads };

// The `first`-th allocation from now on, 0 for the next one, and `count` - 1 more after it are refused, until
// AllowMemory.
void RefuseMemory(Whose whose, uint64_t first, uint64_t count = 1);
// Refuses none: AllowMemory returns how many there were.
inline void CountMemory(Whose whose) { RefuseMemory(whose, UINT64_MAX, 0); }
// Returns how many allocations there were since.
uint64_t AllowMemory();
// How many were refused since RefuseMemory.
uint64_t Refused();

}  // namespace bitsieve::test
