// filter_factory.h: makes filters, empty from parameters or whole from the bytes of an image. Free functions are
// thread-safe; a decoder is thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"

namespace bitsieve::core {

// An empty filter. kInvalidArgument as Validate; kOutOfMemory if the budget refuses its first sub-filter; in both cases
// nothing was allocated. The budget and the clock, which types that age ask for the time, must outlive the filter.
Result<std::unique_ptr<Filter>> MakeFilter(const FilterParams& params, MemoryBudget& budget, const Clock& clock);

// An independent filter, exactly as `filter` is at some moment of the call. kOutOfMemory if the budget refuses it.
Result<std::unique_ptr<Filter>> CloneFilter(const Filter& filter, MemoryBudget& budget, const Clock& clock);

// The same of a moment that has passed: when `image`, of which nothing was read, was captured.
Result<std::unique_ptr<Filter>> CloneFilter(FilterImage& image, MemoryBudget& budget, const Clock& clock);

// The filter of a whole image. kCorrupt, kUnsupported or kOutOfMemory. Budget and clock as MakeFilter's.
Result<std::unique_ptr<Filter>> DecodeFilter(std::string_view header, std::span<const std::byte> body,
                                             MemoryBudget& budget, const Clock& clock);

// A filter being read back from an image. Everything in the bytes is hostile until Finish succeeds; nothing is
// allocated before the header's claims are checked against the limits and taken from the budget.
class FilterDecoder {
 public:
  virtual ~FilterDecoder() = default;
  // kCorrupt, kUnsupported or kOutOfMemory.
  static Result<std::unique_ptr<FilterDecoder>> Open(std::string_view header, MemoryBudget& budget, const Clock& clock);

  virtual uint64_t body_bytes() const = 0;
  // The next bytes of the body, in order. kCorrupt if they are more than body_bytes() in all.
  virtual Status Append(std::span<const std::byte> bytes) = 0;

  // Some types' bodies may instead be filled in where they belong, in any order, by several threads at a time, each
  // byte once: the memory of the body's bytes from `offset` on, as far as it is one piece. Empty: they must be
  // appended.
  virtual std::span<std::byte> Room(uint64_t /*offset*/) { return {}; }
  // So many bytes from `offset` on, of one room, are there. Thread-safe, and best called by the thread that just wrote
  // them.
  virtual void Commit(uint64_t /*offset*/, uint64_t /*bytes*/) {}
  // Copies bytes to where they belong from `offset` on, over as many rooms as it takes. Thread-safe.
  void Put(uint64_t offset, std::span<const std::byte> bytes);

  // The finished filter; kCorrupt if the body is short or contradicts the header. Call once, when all is there.
  virtual Result<std::unique_ptr<Filter>> Finish() = 0;
};

}  // namespace bitsieve::core
