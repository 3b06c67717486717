#include "core/memory/bit_memory.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "core/memory/memory_source.h"

namespace bitsieve::core {

namespace {

// Words, relaxed: what changes during the copy is kept by an image, or does not matter to the caller. What was there
// before the copy began is visible through the synchronisation that started the copy.
void CopyWords(const uint64_t* from, std::byte* to, size_t words) {
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

Error OutOfMemory(uint64_t bytes) {
  return {ErrorCode::kOutOfMemory, "cannot allocate " + std::to_string(bytes) + " bytes of memory for a filter"};
}

}  // namespace

BitMemory::BitMemory(BitMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), reservation_(std::move(other.reservation_)) {
  assert(other.images_ == nullptr);
}

BitMemory& BitMemory::operator=(BitMemory&& other) noexcept {
  assert(images_ == nullptr && other.images_ == nullptr);
  std::swap(data_, other.data_);
  std::swap(reservation_, other.reservation_);
  return *this;
}

BitMemory::~BitMemory() {
  assert(images_ == nullptr);
  if (reservation_.held() && data_ != nullptr) CurrentMemorySource().free(data_, size_bytes());
}

Result<BitMemory> BitMemory::Allocate(uint64_t bytes, MemoryBudget& budget) {
  assert(bytes != 0 && bytes % kLineBytes == 0);
  BitMemory memory;
  memory.reservation_ = MemoryReservation::TryTake(budget, bytes);
  if (!memory.reservation_.held()) return tl::unexpected(OutOfMemory(bytes));
  memory.data_ = static_cast<std::byte*>(CurrentMemorySource().allocate_zeroed(bytes, kLineBytes));
  if (memory.data_ == nullptr) return tl::unexpected(OutOfMemory(bytes));
  return memory;
}

BitMemory BitMemory::Borrow(std::span<const std::byte> bytes) {
  BitMemory memory;
  memory.data_ = const_cast<std::byte*>(bytes.data());
  memory.reservation_ = MemoryReservation::OfOthers(bytes.size());
  return memory;
}

void BitMemory::KeepForImages(uint64_t offset) noexcept {
  for (MemoryImage* image = images_; image != nullptr; image = image->next_) {
    image->Keep(offset / MemoryImage::kChunkBytes);
  }
}

void BitMemory::CopyIn(uint64_t offset, std::span<const std::byte> bytes) {
  assert(offset + bytes.size() <= size_bytes());
  for (size_t done = 0; done < bytes.size();) {
    BeforeWrite(offset + done);
    const uint64_t chunk_end = ((offset + done) / MemoryImage::kChunkBytes + 1) * MemoryImage::kChunkBytes;
    const size_t until = std::min<uint64_t>(bytes.size(), chunk_end - offset);
    for (; done < until; ++done) {
      auto* const there = reinterpret_cast<uint8_t*>(data_ + offset + done);
      __atomic_store_n(there, static_cast<uint8_t>(bytes[done]), __ATOMIC_RELEASE);
    }
  }
}

void BitMemory::CopyOut(uint64_t offset, std::span<std::byte> out) const {
  assert(offset + out.size() <= size_bytes());
  if (out.empty()) return;
  if (reinterpret_cast<uintptr_t>(data_) % sizeof(uint64_t) != 0) {  // borrowed: it is never written to
    std::memcpy(out.data(), data_ + offset, out.size());
    return;
  }
  if (offset % sizeof(uint64_t) != 0) {  // rare: the head of an odd range, up to the next word
    std::byte word[sizeof(uint64_t)];
    const uint64_t within = offset % sizeof word;
    const size_t head = std::min<size_t>(sizeof word - within, out.size());
    CopyWords(reinterpret_cast<const uint64_t*>(data_ + offset - within), word, 1);
    std::memcpy(out.data(), word + within, head);
    return CopyOut(offset + head, out.subspan(head));
  }
  const auto* words = reinterpret_cast<const uint64_t*>(data_ + offset);
  const size_t whole = out.size() / sizeof(uint64_t);
  CopyWords(words, out.data(), whole);
  if (const size_t tail = out.size() % sizeof(uint64_t); tail != 0) {
    std::byte word[sizeof(uint64_t)];
    CopyWords(words + whole, word, 1);
    std::memcpy(out.data() + whole * sizeof word, word, tail);
  }
}

}  // namespace bitsieve::core
