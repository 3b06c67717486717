#include "core/memory/bit_memory.h"

#include <sys/mman.h>

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/memory/deferred_unmap.h"
#include "core/memory/huge_pages.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kMapFromBytes = 128 * 1024;  // below, a page of its own would cost more than it saves
constexpr uint64_t kHugePageBytes = HugePages::kBytes;

// Words, relaxed: what changes meanwhile an image keeps apart, or the copier does not mind. What was
// there before the copy began is visible through whatever told the copier so.
void CopyWords(const uint64_t* from, std::byte* to, size_t words) {
  for (size_t i = 0; i < words; ++i) {
    const uint64_t word = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    std::memcpy(to + i * sizeof word, &word, sizeof word);
  }
}

Error OutOfMemory(uint64_t bytes) {
  return {ErrorCode::kOutOfMemory, "cannot take " + std::to_string(bytes) + " bytes of memory for a filter"};
}

}  // namespace

BitMemory::BitMemory(BitMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(std::exchange(other.mapping_bytes_, 0)),
      reservation_(std::move(other.reservation_)) {
  assert(other.images_ == nullptr);
}

BitMemory& BitMemory::operator=(BitMemory&& other) noexcept {
  assert(images_ == nullptr && other.images_ == nullptr);
  std::swap(data_, other.data_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapping_bytes_, other.mapping_bytes_);
  std::swap(reservation_, other.reservation_);
  return *this;
}

BitMemory::~BitMemory() {
  assert(images_ == nullptr);
  if (mapping_ != nullptr) {
    if (mapping_bytes_ > kHugePageBytes) HugePages::Remove(data_);
    if (!DeferredUnmap::HandOver(mapping_, mapping_bytes_)) munmap(mapping_, mapping_bytes_);
  } else {
    std::free(data_);
  }
}

Result<BitMemory> BitMemory::Allocate(uint64_t bytes, MemoryBudget& budget) {
  assert(bytes != 0 && bytes % kLineBytes == 0);
  BitMemory memory;
  memory.reservation_ = MemoryReservation::TryTake(budget, bytes);
  if (!memory.reservation_.held()) return tl::unexpected(OutOfMemory(bytes));
  if (bytes < kMapFromBytes) {
    memory.data_ = static_cast<std::byte*>(std::aligned_alloc(kLineBytes, bytes));
    if (memory.data_ == nullptr) return tl::unexpected(OutOfMemory(bytes));
    std::memset(memory.data_, 0, bytes);
    return memory;
  }
  const bool huge = bytes >= kHugePageBytes;
  const uint64_t slack = huge ? kHugePageBytes : 0;  // so that the data can start at a huge page's boundary
  if (bytes > UINT64_MAX / 2) return tl::unexpected(OutOfMemory(bytes));
  void* mapping = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return tl::unexpected(OutOfMemory(bytes));
  memory.mapping_ = mapping;
  memory.mapping_bytes_ = bytes + slack;
  uintptr_t start = reinterpret_cast<uintptr_t>(mapping);
  if (huge) start = (start + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  memory.data_ = reinterpret_cast<std::byte*>(start);
  if (huge) HugePages::Add(memory.data_, bytes);
  return memory;
}

void BitMemory::KeepForImages(uint64_t offset) noexcept {
  for (MemoryImage* image = images_; image != nullptr; image = image->next_) {
    image->Keep(offset / MemoryImage::kChunkBytes);
  }
}

void BitMemory::CopyOut(uint64_t offset, std::span<std::byte> out) const {
  assert(offset + out.size() <= size_bytes());
  if (out.empty()) return;
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
