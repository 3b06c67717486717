// parts_image.h: the image of a filter whose body is the bytes of several memories, one after the other, exactly as of
// the moment it was made. Thread-compatible; writers of the filter need not stop.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/spin_lock.h"
#include "core/filter/filter.h"
#include "core/memory/bit_memory.h"
#include "core/memory/image_part.h"

namespace bitsieve::core {

class PartsImage final : public FilterImage {
 public:
  // Made and filled while the caller holds `writers`, which outlives the image.
  PartsImage(std::string header, SpinLock& writers) : header_(std::move(header)), writers_(writers) {}
  // Takes the lock, once it was captured; a writer that holds it and waits for this image first goes on.
  ~PartsImage() override;

  // Further `bytes` of the body.
  void AddPart(std::unique_ptr<ImagePart> part, uint64_t bytes);
  // The first `bytes` of `memory`.
  void AddPart(BitMemory& memory, uint64_t bytes, const ImagePool& pool);

  const std::string& header() const override { return header_; }
  uint64_t body_bytes() const override { return body_bytes_; }
  Status Read(uint64_t offset, std::span<std::byte> out) override;

 private:
  struct Part {
    std::unique_ptr<ImagePart> image;
    uint64_t bytes;
  };

  const std::string header_;
  SpinLock& writers_;
  std::vector<Part> parts_;
  uint64_t body_bytes_ = 0;
};

}  // namespace bitsieve::core
