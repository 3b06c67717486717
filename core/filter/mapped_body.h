// mapped_body.h: the body of an image that others keep in memory, such as a mapped file, taken memory by memory for the
// tables of a filter that is only ever looked up. Nothing is copied or read. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/filter/image_header.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::core {

class MappedBody {
 public:
  // Takes the body that FilterTypeRow::map is given.
  explicit MappedBody(std::span<const std::byte> bytes) : rest_(bytes) {}

  // Takes the next bytes. kCorrupt if there are fewer.
  Result<BitMemory> Take(uint64_t bytes) {
    if (bytes > rest_.size()) return CorruptBody("it is shorter than the header says");
    const std::span<const std::byte> taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return BitMemory::Borrow(taken);
  }
  // kCorrupt unless all was taken.
  Status CheckAtEnd() const {
    return rest_.empty() ? Status() : Status(CorruptBody("it is longer than the header says"));
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace bitsieve::core
