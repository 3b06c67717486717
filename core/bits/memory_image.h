// memory_image.h: the bytes of a BitMemory as they were at one moment, read while writers go on. For kinds that move or
// clear what they hold, of which bytes of different moments would make a filter that never was.
//
// Idea        copy on write by chunks: who is about to change a chunk that was not read yet first keeps a copy of it
//             for the image; the reader takes that copy, or the chunk itself if nobody changed it.
// Cost        to writers: one load while no image is open; the copy of a chunk, once each, while one is. Memory: the
//             copies not yet read, at most as much as the memory itself, taken from the budget. If that refuses, the
//             image is lost, and its reader is told so; writers never wait for it and never fail.
// Reading     goes forward: each byte is read at most once, in ascending order.
// Threads     one reader; any writers. Opening and closing exclude all writers (by their own lock): that is what makes
//             the moment one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/base/result.h"

namespace bitsieve::core {

class BitMemory;

class MemoryImage {
 public:
  static constexpr uint64_t kChunkBytes = 64 * 1024;

  // The caller excludes all writers of `memory`, which outlives the image and does not move.
  MemoryImage(BitMemory& memory, MemoryBudget& budget);
  // The caller excludes all writers.
  ~MemoryImage();
  MemoryImage(const MemoryImage&) = delete;
  MemoryImage& operator=(const MemoryImage&) = delete;

  // Copies bytes [offset, offset + out.size()), which lie within the memory and behind all that was read before.
  // kOutOfMemory once the budget refused a copy: the image is worth nothing then.
  Status Read(uint64_t offset, std::span<std::byte> out);

 private:
  friend class BitMemory;

  enum class State : uint8_t {
    kInPlace,  // unchanged since the image was opened
    kBusy,     // somebody copies it
    kKept,     // changed since; its copy is in kept_
    kDone,     // read to its end, or lost
  };
  struct Kept {
    std::unique_ptr<std::byte[]> bytes;
    MemoryReservation reservation;
  };

  // Called by writers.
  void Keep(uint64_t chunk);
  // kInPlace becomes kBusy: true. Waits while it is kBusy.
  bool Claim(uint64_t chunk);
  uint64_t BytesOf(uint64_t chunk) const;
  void ReadChunk(uint64_t chunk, uint64_t within, std::span<std::byte> out);

  BitMemory& memory_;
  MemoryBudget& budget_;
  std::vector<std::atomic<State>> states_;  // released by who leaves kBusy, acquired by the next
  std::vector<Kept> kept_;                  // an element belongs to who made its chunk kBusy, then to the reader
  std::atomic<bool> lost_{false};
  MemoryImage* next_ = nullptr;  // in the memory's list of open images
};

}  // namespace bitsieve::core
