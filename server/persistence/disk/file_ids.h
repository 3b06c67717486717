// file_ids.h: numbers for filter files. Each number is given out once. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace bitsieve::server {

class FileIds {
 public:
  explicit FileIds(uint64_t next = 1) : next_(next) {}

  uint64_t Take() { return next_.fetch_add(1, std::memory_order_relaxed); }
  // Above every one that was taken.
  uint64_t next() const { return next_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> next_;  // relaxed: only uniqueness matters
};

}  // namespace bitsieve::server
