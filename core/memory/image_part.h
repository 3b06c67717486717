// image_part.h: some bytes of a filter's image, as of the moment it was opened, read while writers continue; and the
// pool for the copies that an image keeps of what changes before it is read.
// Threads: one reader; any writers. Opening and closing exclude all writers, by their own lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/memory_budget.h"
#include "core/base/result.h"

namespace bitsieve::core {

// How a change proceeds if there is no memory for the copy that it needs. A change that has begun never waits, since it
// holds the lock of the filter's writers. With patience, commands ask ImagePressure (core/filter/image_pressure.h)
// before they change a filter, and are postponed while the pool is nearly used up; changes that have begun by then go
// beyond the pool. A patient image is lost only if the system has no memory.
enum class Patience : uint8_t {
  kLose,  // it goes ahead, and the image is lost
  kWait,  // the copy goes beyond the pool, and changes wait before they begin: for readers that write to a disk
};

struct ImagePool {
  MemoryBudget& budget;  // outlives the image
  Patience patience;
};

class ImagePart {
 public:
  ImagePart() = default;
  ImagePart(const ImagePart&) = delete;
  ImagePart& operator=(const ImagePart&) = delete;
  virtual ~ImagePart() = default;

  // Copies bytes [offset, offset + out.size()), which lie within the part and after everything read before.
  // kOutOfMemory once there was no memory for a copy of what changed: the image is then useless.
  virtual Status Read(uint64_t offset, std::span<std::byte> out) = 0;
  // The image is not read any more: writers keep nothing more for it. Excludes no writer; Close follows.
  virtual void GiveUp() = 0;
  // From now on writers do not know the part any more. The caller excludes all writers. Called once, before it dies;
  // one that dies while its image is being put together closes itself.
  virtual void Close() = 0;
};

}  // namespace bitsieve::core
