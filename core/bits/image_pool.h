// image_pool.h: where the copies lie that an image keeps of what changes before it is read. Thread-safe: a plain value.
#pragma once

#include <cstdint>

#include "core/base/memory_budget.h"

namespace bitsieve::core {

// What happens to a change for whose copy there is no memory. A writer who waits holds the lock of the filter's
// writers: a reader with patience must not ask the filter for anything that takes that lock before the image is read or
// dead.
enum class Patience : uint8_t {
  kLose,  // it goes ahead, and the image is lost
  kWait,  // it waits until the image's reader has come past, or given up: for readers that nothing holds up but a disk
};

struct ImagePool {
  MemoryBudget& budget;  // outlives the image
  Patience patience;
};

}  // namespace bitsieve::core
