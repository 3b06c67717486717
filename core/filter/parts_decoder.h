// parts_decoder.h: a decoder of the types whose body is the bytes of several memories, one after the other: the
// sub-filters or tables of a chain, oldest first. A type defines when a part is valid, and what is made of all parts.
// Threads: as FilterDecoder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "core/filter/filter_factory.h"

namespace bitsieve::core {

class PartsDecoder : public FilterDecoder {
 public:
  uint64_t body_bytes() const final { return body_bytes_; }
  Status Append(std::span<const std::byte> bytes) final;
  std::span<std::byte> Room(uint64_t offset) final;
  void Commit(uint64_t offset, uint64_t bytes) final;
  Result<std::unique_ptr<Filter>> Finish() final;

 protected:
  // Adds the memory that the body's next bytes, at least one, belong in. Called before any of them comes.
  void AddPart(std::span<std::byte> bytes);

  // Returns a count that a type wants of the bytes of a part, chunk by chunk, while they are in the processor's cache.
  // Thread-safe.
  virtual uint64_t Count(size_t /*part*/, std::span<const std::byte> /*bytes*/) const { return 0; }
  // Called once for each part, in order, when all of its bytes have come. `count` is the sum of Count over them.
  virtual Status FinishPart(size_t part, uint64_t count) = 0;
  // Called once, after the last part.
  virtual Result<std::unique_ptr<Filter>> FinishFilter() = 0;

  // Returns whether all bits from this one on are clear.
  static bool IsClearFrom(std::span<const std::byte> bytes, uint64_t bit);

 private:
  struct Part {
    Part(uint64_t begin_in_body, std::span<std::byte> memory) : begin(begin_in_body), bytes(memory) {}
    const uint64_t begin;  // in the body
    const std::span<std::byte> bytes;
    // Relaxed: the thread that finishes has waited for those that commit.
    std::atomic<uint64_t> filled{0};  // bytes that are there
    std::atomic<uint64_t> count{0};
  };

  // Returns the index of the part with this byte of the body; one past the last part if the body ends before it.
  size_t PartWith(uint64_t offset) const;

  std::deque<Part> parts_;  // in the body's order
  uint64_t body_bytes_ = 0;
  uint64_t appended_ = 0;  // bytes
};

}  // namespace bitsieve::core
