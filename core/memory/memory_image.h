// memory_image.h: the first bytes of a BitMemory as they were at one moment, read while writers continue.
//
// Idea        copy on write by chunks: a writer about to change a chunk that was not read yet first keeps a copy of it
//             for the image; the reader takes that copy, or the chunk itself if it was not changed.
// Cost        to writers: one load while no image is open; the copy of a chunk, once each, while one is. Memory: the
//             copies not yet read, at most as much as the memory itself, taken from the pool; each is given back as
//             soon as it is read. Opening takes the same time for any size.
// No memory   for a copy: the image is lost, and its reader gets an error; or, if the pool is patient, the copy is
//             taken beyond the pool: changes wait before they begin (core/filter/image_pressure.h), not here, under
//             locks.
// Reading     goes forward: each byte is read at most once, in ascending order.
// Threads     as ImagePart: one reader; any number of writers, which exclude each other.
#pragma once

#include <atomic>
#include <memory>

#include "core/base/memory_budget.h"
#include "core/memory/image_part.h"

namespace bitsieve::core {

class BitMemory;

class MemoryImage final : public ImagePart {
 public:
  static constexpr uint64_t kChunkBytes = 64 * 1024;

  // Opens an image of bytes [0, bytes) of `memory`, which outlives the image and does not move. The caller excludes all
  // writers.
  MemoryImage(BitMemory& memory, uint64_t bytes, const ImagePool& pool);
  // Closes the image unless that was done, as when the object that was to hold it could not be made. The caller then
  // excludes all writers.
  ~MemoryImage() override;

  Status Read(uint64_t offset, std::span<std::byte> out) override;
  void GiveUp() override { given_up_.store(true, std::memory_order_relaxed); }
  void Close() override;

 private:
  friend class BitMemory;

  struct Copy {
    MemoryReservation reservation;
    std::unique_ptr<std::byte[]> bytes;
  };
  struct Free {
    size_t bytes;
    void operator()(Copy** chunks) const;
  };
  using Notes = std::unique_ptr<Copy*[], Free>;

  // The note of a chunk is null while it is unchanged since the image was opened; one of these two; else its copy.
  static Copy* Busy() { return &busy_; }  // a thread is copying it
  static Copy* Done() { return &done_; }  // read to its end

  static Notes MakeNotes(uint64_t chunks);
  // Called by writers before they change something in the chunk.
  void Keep(uint64_t chunk) noexcept;
  // Returns empty memory for a copy of the chunk; null if none is needed any more, or the image is lost.
  std::unique_ptr<Copy> MakeCopy(uint64_t chunk) noexcept;
  // Makes an unchanged chunk busy and returns true. Waits while it is busy; returns false if it has a copy or was read.
  bool Claim(uint64_t chunk);
  Copy* NoteOf(uint64_t chunk) const { return __atomic_load_n(&chunks_.get()[chunk], __ATOMIC_ACQUIRE); }
  void SetNote(uint64_t chunk, Copy* note) { __atomic_store_n(&chunks_.get()[chunk], note, __ATOMIC_RELEASE); }
  bool IsUnread(uint64_t chunk) const {
    const Copy* const note = NoteOf(chunk);
    return note == nullptr || note == Busy();
  }
  uint64_t BytesOf(uint64_t chunk) const;
  void ReadChunk(uint64_t chunk, uint64_t within, std::span<std::byte> out);

  static Copy busy_, done_;  // only their addresses count

  BitMemory& memory_;
  const uint64_t bytes_;
  const uint64_t chunk_count_;
  const ImagePool pool_;
  const Notes chunks_;    // zero pages on demand; null if the memory source refused them
  uint64_t reading_ = 0;  // the reader's chunk: those before are done
  std::atomic<bool> lost_{false};
  std::atomic<bool> given_up_{false};  // relaxed: a waiting thread sees it soon
  bool open_ = true;
  MemoryImage* next_ = nullptr;  // in the memory's list of open images
};

}  // namespace bitsieve::core
