// parts_decoder.h: a decoder of the kinds whose body is the bytes of several memories, one after the other: the links,
// tables or sub-filters of a chain, oldest first. A kind says what makes a part whole, and what all of them are.
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/filters/filter_factory.h"

namespace bitsieve::core {

class PartsDecoder : public FilterDecoder {
 public:
  uint64_t body_bytes() const final { return body_bytes_; }
  Status Append(std::span<const std::byte> bytes) final;
  Result<std::unique_ptr<Filter>> Finish() final;

 protected:
  // The body's next bytes, at least one, belong here. Called before any of them comes.
  void AddPart(std::span<std::byte> bytes);

  // The bytes of this part have all come.
  virtual Status FinishPart(size_t part) = 0;
  // So have those of all parts. Called once.
  virtual Result<std::unique_ptr<Filter>> FinishFilter() = 0;

  // kCorrupt.
  static tl::unexpected<Error> Corrupt(const char* what);
  // Whether all bits from this one on are clear.
  static bool IsClearFrom(std::span<const std::byte> bytes, uint64_t bit);

 private:
  std::vector<std::span<std::byte>> parts_;
  uint64_t body_bytes_ = 0;
  size_t current_ = 0;  // the part being filled
  size_t filled_ = 0;   // bytes of it that are there
};

}  // namespace bitsieve::core
