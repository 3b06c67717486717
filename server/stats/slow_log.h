// slow_log.h: commands that took long, the newest ones, for SLOWLOG. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/base/mutex.h"

namespace bitsieve::server {

struct SlowCommand {
  uint64_t id = 0;
  int64_t unix_s = 0;
  uint64_t us = 0;
  std::vector<std::string> arguments;  // cut short
  std::string client_address;
  std::string client_name;
};

class SlowLog {
 public:
  // Numbers it and keeps it. Older ones go when there are too many.
  void Add(SlowCommand command);
  // Newest first.
  std::vector<SlowCommand> Newest(size_t count) const;
  size_t Size() const;
  void Clear();
  void set_max_size(size_t commands);

  // The commands that were added since the last call.
  struct Summary {
    uint64_t commands = 0;
    uint64_t slowest_us = 0;
    std::string slowest;  // its name
  };
  Summary TakeSummary();

 private:
  // Moves the commands over the limit into `dying`, which is destroyed outside of the lock.
  void Shorten(std::deque<SlowCommand>& dying) BITSIEVE_REQUIRES(mutex_);

  mutable core::Mutex mutex_;
  std::deque<SlowCommand> commands_ BITSIEVE_GUARDED_BY(mutex_);  // newest first
  size_t max_size_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  uint64_t next_id_ BITSIEVE_GUARDED_BY(mutex_) = 0;
  Summary summary_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
