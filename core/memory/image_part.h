// image_part.h: some bytes of a filter's image, of the moment it was opened, read while writers go on.
// Threads: one reader; any writers. Opening and closing exclude all writers, by their own lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"

namespace bitsieve::core {

class ImagePart {
 public:
  ImagePart() = default;
  ImagePart(const ImagePart&) = delete;
  ImagePart& operator=(const ImagePart&) = delete;
  virtual ~ImagePart() = default;

  // Copies bytes [offset, offset + out.size()), which lie within the part and after everything read before.
  // kOutOfMemory once there was no memory for a copy of what changed: the image is then useless.
  virtual Status Read(uint64_t offset, std::span<std::byte> out) = 0;
  // It is not read any more: writers keep nothing more for it. Excludes no writer; Close follows.
  virtual void GiveUp() = 0;
  // From now on writers do not know it any more. The caller excludes all writers. Once, before it dies; one that dies
  // while its image is being put together closes itself.
  virtual void Close() = 0;
};

}  // namespace bitsieve::core
