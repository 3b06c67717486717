// bit_memory.h: the zeroed memory of a filter's bits, aligned to cache lines. Taken from the budget first, then from
// the memory source, whose large memory costs nothing before it is used (memory_source.h). Thread-compatible; the bytes
// are the owner's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/always_inline.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/memory/memory_image.h"

namespace bitsieve::core {

inline constexpr size_t kLineBytes = 64;
inline constexpr size_t kLineBits = 8 * kLineBytes;

class BitMemory {
 public:
  BitMemory() = default;
  BitMemory(BitMemory&& other) noexcept;
  BitMemory& operator=(BitMemory&& other) noexcept;
  ~BitMemory();

  // Allocates `bytes` zero bytes; a multiple of kLineBytes, not 0. kOutOfMemory if the budget or the source refuses.
  static Result<BitMemory> Allocate(uint64_t bytes, MemoryBudget& budget);

  // Refers to bytes of another owner, who keeps them unchanged as long as this lives: nothing may be written to them.
  // They need not be aligned to lines.
  static BitMemory Borrow(std::span<const std::byte> bytes);

  // Refers in the same way to words that may be written to: memory that another owner allocated, and keeps as long as
  // this lives.
  static BitMemory Lent(std::span<std::byte> bytes) { return Borrow(bytes); }
  bool is_own() const { return reservation_.held(); }

  std::byte* data() const { return data_; }
  uint64_t size_bytes() const { return reservation_.bytes(); }
  std::span<std::byte> bytes() const { return {data_, size_bytes()}; }

  // Copies while other threads may be changing words: each word is one that was there.
  void CopyOut(uint64_t offset, std::span<std::byte> out) const;

  // Puts bytes in place while other threads may be reading: of each byte they see the old one or the new one. Under the
  // lock that opening an image excludes.
  void CopyIn(uint64_t offset, std::span<const std::byte> bytes);

  // Under the lock that opening an image excludes.
  bool has_images() const { return images_ != nullptr; }
  // Called by a writer, under the lock that opening an image excludes, before it changes the word at `offset`.
  BITSIEVE_ALWAYS_INLINE void BeforeWrite(uint64_t offset) {
    if (images_ != nullptr) [[unlikely]]
      KeepForImages(offset);
  }

 private:
  friend class MemoryImage;

  void KeepForImages(uint64_t offset) noexcept;

  std::byte* data_ = nullptr;
  MemoryReservation reservation_;
  MemoryImage* images_ = nullptr;  // open ones; changed while writers are excluded. None while the memory moves
};

}  // namespace bitsieve::core
