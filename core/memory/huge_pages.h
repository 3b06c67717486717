// huge_pages.h: huge pages for large memory, without a stall. The first touch of a huge page clears 2 MiB, which takes
// 0.2 to 1 ms: a batch of 500 items that goes to a new sub-filter touches hundreds. So once a thread keeps pages huge,
// memory begins in small pages, and that thread makes huge ones of them where some are in use (MADV_COLLAPSE, Linux
// 6.1). On a system that cannot, pages stay small until the system itself joins them. Without such a thread, pages are
// huge from the first touch on: that is for loading, when no client waits.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace bitsieve::core {

class HugePages {
 public:
  static constexpr uint64_t kBytes = 2 << 20;

  // Prepares memory that begins at a huge page's boundary, and of which nothing was touched yet.
  static void Add(std::byte* data, uint64_t bytes);
  // Forgets memory, before it is unmapped. Waits for the page that is being made, a millisecond or two.
  static void Remove(std::byte* data);

  // Between these two calls a thread calls MakeAll at intervals.
  static void BeginKeeping();
  static void EndKeeping();
  // Makes a huge page of each that has many small ones in use; calls `pause` after each, and ends early if that returns
  // false. Returns how many were made.
  static uint64_t MakeAll(const std::function<bool()>& pause);
};

}  // namespace bitsieve::core
