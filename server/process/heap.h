// heap.h: memory that was freed goes back to the system, so that after a rush the process takes what it took before.
//
// Large blocks (long arguments, replies that are not read): at once. By default, the allocator takes the first of them
// that is freed as a reason to keep up to 64 MB of free memory for each thread.
// Small ones: the allocator gives back only the free end of a heap, after the last block that is in use. So when
//             clients have left in numbers, or much more is resident than filters take (names were deleted, a snapshot
//             or a burst of changes is over), the free pages in between are given back, too.
// Blocks of up to 128 bytes are joined with their free neighbours as they are freed. By default, the allocator puts
// that off until a thread asks for a large block; after a million names have gone, that thread pays for all of it at
// once.
// ConfigureHeap, Rush and Slack are thread-compatible; HeapTrimmer is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "core/base/mutex.h"

namespace bitsieve::server {

// For blocks of both sizes; once, before there are threads.
void ConfigureHeap();

// Knows when a rush of clients is over.
class Rush {
 public:
  static constexpr uint64_t kLeastClients = 100;  // fewer leave little to give back

  // Called at intervals with the number of clients: true once half of them, or more, have left since the last time.
  bool IsOver(uint64_t clients);

 private:
  uint64_t most_ = 0;  // clients since the last rush was over
};

// Knows when memory that filters do not take has become so much more that some of it is likely to be free.
class Slack {
 public:
  static constexpr uint64_t kLeastBytes = 16 << 20;

  // Called at intervals with what the process takes and what filters take of it: true once the difference is larger, by
  // kLeastBytes and a part of what filters take, than it was at its least or after it was given back.
  bool HasGrown(uint64_t resident_bytes, uint64_t used_bytes);
  // Called after free memory was given back: what is still resident is not free.
  void RecordGivenBack(uint64_t resident_bytes, uint64_t used_bytes);

 private:
  uint64_t least_ = UINT64_MAX;
};

// For small ones: the thread that gives pages back. While it does, another thread that needs more memory than it has at
// hand may wait for some milliseconds.
class HeapTrimmer {
 public:
  using Count = std::function<uint64_t()>;

  // Both are called by the thread.
  HeapTrimmer(Count clients, Count used_bytes);
  HeapTrimmer(const HeapTrimmer&) = delete;
  HeapTrimmer& operator=(const HeapTrimmer&) = delete;
  ~HeapTrimmer();

 private:
  void Run();
  void Look();

  const Count clients_;
  const Count used_bytes_;
  Rush rush_;    // of the thread
  Slack slack_;  // the same
  core::Mutex mutex_;
  core::ConditionVariable wake_;
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bitsieve::server
