// parts_image.h: the image of one moment of the kinds whose writers take a mutex, and whose body is the bytes of
// several memories, one after the other. Thread-compatible; writers of the filter go on meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/bits/bit_memory.h"
#include "core/filters/filter.h"

namespace bitsieve::core {

class PartsImage final : public FilterImage {
 public:
  // Made and filled while the caller holds `writers`, which outlives the image.
  PartsImage(std::string header, std::mutex& writers) : header_(std::move(header)), writers_(writers) {}
  // Takes the mutex.
  ~PartsImage() override;

  // Further `bytes`, the first ones of `memory`; what is copied is taken from the budget.
  void AddPart(BitMemory& memory, uint64_t bytes, MemoryBudget& budget);

  const std::string& header() const override { return header_; }
  uint64_t body_bytes() const override { return body_bytes_; }
  Status Read(uint64_t offset, std::span<std::byte> out) override;

 private:
  struct Part {
    std::unique_ptr<MemoryImage> image;
    uint64_t bytes;
  };

  const std::string header_;
  std::mutex& writers_;
  std::vector<Part> parts_;
  uint64_t body_bytes_ = 0;
};

}  // namespace bitsieve::core
