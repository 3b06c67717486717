// unwritten_age.h: for how long the oldest record of the log has waited to be written. There are two groups of records
// that wait: those that were appended, and those that the log's thread has taken. Each group has the time at which its
// oldest record was appended, by the monotonic clock; 0: the group is empty.
// Thread-safe; each function that changes a time says who may call it.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "core/base/clock.h"

namespace bitsieve::server {

class UnwrittenAge {
 public:
  // The clock outlives it.
  explicit UnwrittenAge(const core::Clock& clock) : clock_(clock) {}

  // Returns 0 if all is written.
  int64_t Ms() const {
    const int64_t appended = appended_since_ms_.load(std::memory_order_acquire);  // first: it becomes the other
    const int64_t taken = taken_since_ms_.load(std::memory_order_relaxed);
    const int64_t since = taken != 0 ? taken : appended;
    return since == 0 ? 0 : std::max<int64_t>(0, clock_.MonotonicMs() - since);
  }

  // Begins the age of what is appended. The caller holds the lock of the appended records.
  void BeginAppended() { appended_since_ms_.store(clock_.MonotonicMs(), std::memory_order_relaxed); }
  // Moves the age of what was appended to what is taken. The log's thread calls it with that lock held.
  void Take() {
    const int64_t appended = appended_since_ms_.load(std::memory_order_relaxed);
    if (appended != 0 && taken_since_ms_.load(std::memory_order_relaxed) == 0) {
      taken_since_ms_.store(appended, std::memory_order_relaxed);
    }
    appended_since_ms_.store(0, std::memory_order_release);
  }
  // Ends the age of what was taken, since it is written. For the log's thread.
  void ClearTaken() { taken_since_ms_.store(0, std::memory_order_relaxed); }
  // Gives what was taken this age again, since it must be written again, unless it has an age. For the log's thread.
  void RestoreTaken(std::chrono::milliseconds age) {
    if (taken_since_ms_.load(std::memory_order_relaxed) != 0) return;
    taken_since_ms_.store(clock_.MonotonicMs() - age.count(), std::memory_order_relaxed);
  }

 private:
  const core::Clock& clock_;
  // Changed under the lock. Take releases it, so a reader that sees the 0 of Take also sees the other time.
  std::atomic<int64_t> appended_since_ms_{0};
  std::atomic<int64_t> taken_since_ms_{0};  // changed by the log's thread; relaxed: seen late by one reply
};

}  // namespace bitsieve::server
