// use_counters.h: how much a filter was used since it was made or loaded. Thread-safe, without an order between the
// counts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>

namespace bitsieve::core {

struct FilterUse {
  uint64_t hits = 0;         // lookups that found their item
  uint64_t misses = 0;       // and that did not
  uint64_t added = 0;        // items that were new
  uint32_t last_unix_s = 0;  // of the last command about items; 0: there was none
};

class UseCounters {
 public:
  // Counts a batch of any size, at the system's time, which is at most some milliseconds old.
  void Count(uint64_t hits, uint64_t misses, uint64_t added) {
    timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    Add({hits, misses, added, static_cast<uint32_t>(now.tv_sec)});
  }
  // Adds what was counted elsewhere.
  void Add(const FilterUse& use) {
    AddTo(hits_, use.hits);
    AddTo(misses_, use.misses);
    AddTo(added_, use.added);
    if (last_unix_s_.load(std::memory_order_relaxed) < use.last_unix_s) {
      last_unix_s_.store(use.last_unix_s, std::memory_order_relaxed);
    }
  }
  void Collect(FilterUse& use) const {
    use.hits += hits_.load(std::memory_order_relaxed);
    use.misses += misses_.load(std::memory_order_relaxed);
    use.added += added_.load(std::memory_order_relaxed);
    use.last_unix_s = std::max(use.last_unix_s, last_unix_s_.load(std::memory_order_relaxed));
  }

 private:
  // A cache line that other threads write, too, is not touched if there is nothing to add.
  static void AddTo(std::atomic<uint64_t>& count, uint64_t more) {
    if (more != 0) count.fetch_add(more, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
  std::atomic<uint64_t> added_{0};
  std::atomic<uint32_t> last_unix_s_{0};
};

}  // namespace bitsieve::core
