#include "core/memory/memory_image.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "core/base/backoff.h"
#include "core/memory/bit_memory.h"
#include "core/memory/memory_source.h"

namespace bitsieve::core {

MemoryImage::Copy MemoryImage::busy_;
MemoryImage::Copy MemoryImage::done_;

MemoryImage::MemoryImage(BitMemory& memory, uint64_t bytes, const ImagePool& pool)
    : memory_(memory),
      bytes_(bytes),
      chunk_count_((bytes + kChunkBytes - 1) / kChunkBytes),
      pool_(pool),
      chunks_(MakeNotes(chunk_count_)),
      lost_(chunks_ == nullptr && chunk_count_ != 0),
      next_(memory.images_) {
  assert(bytes <= memory.size_bytes());
  memory.images_ = this;
}

MemoryImage::Notes MemoryImage::MakeNotes(uint64_t chunks) {
  const size_t bytes = chunks * sizeof(Copy*);
  void* const notes = bytes == 0 ? nullptr : CurrentMemorySource().allocate_zeroed(bytes, kLineBytes);
  return Notes(static_cast<Copy**>(notes), Free{bytes});
}

void MemoryImage::Free::operator()(Copy** chunks) const { CurrentMemorySource().free(chunks, bytes); }

MemoryImage::~MemoryImage() {
  if (open_) Close();
  if (chunks_ == nullptr) return;
  for (uint64_t chunk = reading_; chunk < chunk_count_; ++chunk) {
    if (Copy* const note = NoteOf(chunk); note != Busy() && note != Done()) delete note;
  }
}

void MemoryImage::Close() {
  MemoryImage** at = &memory_.images_;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
  open_ = false;
}

uint64_t MemoryImage::BytesOf(uint64_t chunk) const { return std::min(kChunkBytes, bytes_ - chunk * kChunkBytes); }

bool MemoryImage::Claim(uint64_t chunk) {
  for (Backoff backoff;; backoff.Pause()) {
    Copy* note = nullptr;
    if (__atomic_compare_exchange_n(&chunks_.get()[chunk], &note, Busy(), false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
      return true;
    }
    if (note != Busy()) return false;
  }
}

void MemoryImage::Keep(uint64_t chunk) noexcept {
  if (chunk >= chunk_count_ || chunks_ == nullptr || !IsUnread(chunk)) return;
  std::unique_ptr<Copy> copy = MakeCopy(chunk);
  if (copy == nullptr || !Claim(chunk)) return;
  memory_.CopyOut(chunk * kChunkBytes, {copy->bytes.get(), BytesOf(chunk)});
  SetNote(chunk, copy.release());
}

// The chunk is not claimed during this, so that the reader can get past.
std::unique_ptr<MemoryImage::Copy> MemoryImage::MakeCopy(uint64_t chunk) noexcept {
  if (lost_.load(std::memory_order_relaxed) || given_up_.load(std::memory_order_relaxed)) return nullptr;
  std::unique_ptr<Copy> copy(new (std::nothrow) Copy);
  if (copy != nullptr) {
    copy->reservation = MemoryReservation::TryTake(pool_.budget, BytesOf(chunk));
    const bool may_be = copy->reservation.held() || pool_.patience == Patience::kWait;
    if (may_be) copy->bytes.reset(new (std::nothrow) std::byte[BytesOf(chunk)]);
    if (copy->bytes != nullptr) return copy;
  }
  lost_.store(true, std::memory_order_release);
  return nullptr;
}

// A chunk is done with once its last byte was read; what is left of one read in part stays guarded.
void MemoryImage::ReadChunk(uint64_t chunk, uint64_t within, std::span<std::byte> out) {
  const bool to_its_end = within + out.size() == BytesOf(chunk);
  if (Claim(chunk)) {
    memory_.CopyOut(chunk * kChunkBytes + within, out);
    return SetNote(chunk, to_its_end ? Done() : nullptr);
  }
  Copy* const copy = NoteOf(chunk);
  assert(copy != Done() && "reading goes forward");
  std::memcpy(out.data(), copy->bytes.get() + within, out.size());
  if (!to_its_end) return;
  SetNote(chunk, Done());
  delete copy;
}

Status MemoryImage::Read(uint64_t offset, std::span<std::byte> out) {
  assert(offset + out.size() <= bytes_);
  while (!out.empty() && !lost_.load(std::memory_order_acquire)) {
    const uint64_t within = offset % kChunkBytes;
    reading_ = offset / kChunkBytes;
    const size_t count = std::min<uint64_t>(out.size(), BytesOf(reading_) - within);
    ReadChunk(reading_, within, out.first(count));
    out = out.subspan(count);
    offset += count;
  }
  if (!lost_.load(std::memory_order_acquire)) return {};
  return Fail(ErrorCode::kOutOfMemory, "out of memory for copies of what changes while a filter's image is read");
}

}  // namespace bitsieve::core
