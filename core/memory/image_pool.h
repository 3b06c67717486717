// image_pool.h: where the copies lie that an image keeps of what changes before it is read. Thread-safe: a plain value.
#pragma once

#include <cstdint>

#include "core/base/memory_budget.h"

namespace bitsieve::core {

// What happens to a change for whose copy there is no memory. A change that has begun never waits, since it holds the
// lock of the filter's writers. With patience, commands ask ImagePressure (core/filter/image_pressure.h) before they
// change a filter, and are postponed while the pool is nearly used up; what has begun by then goes beyond the pool.
// Only a system without memory loses a patient image.
enum class Patience : uint8_t {
  kLose,  // it goes ahead, and the image is lost
  kWait,  // the copy goes beyond the pool, and changes wait before they begin: for readers that write to a disk
};

struct ImagePool {
  MemoryBudget& budget;  // outlives the image
  Patience patience;
};

}  // namespace bitsieve::core
