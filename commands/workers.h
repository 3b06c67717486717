// workers.h: threads beside the event loops, for commands that would hold a loop for long. The implementation is
// server/worker_pool; without one (null) every command runs on its loop.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>

namespace bitsieve::commands {

// How long a command would hold its loop.
enum class Weight : uint8_t {
  kLight,  // less than a millisecond: it runs there
  kMany,   // as long as its arguments are many: it runs on a worker
  kLarge,  // as long as filters are large or names are many: on a worker, but never on all of them at once
};

class Workers {
 public:
  virtual ~Workers() = default;
  // Runs `work`, which must not throw, on another thread, after what was given earlier with the same weight. Work that
  // has not begun when the workers stop is never run. Throws std::bad_alloc.
  virtual void Run(Weight weight, std::function<void()> work) = 0;
};

}  // namespace bitsieve::commands
