#include "server/session/read_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace bitsieve::server {

std::span<char> ReadBuffer::Prepare(std::span<char> scratch) {
  if (size_ <= kSmall) {
    if (size_ != 0) std::memcpy(scratch.data(), bytes_.get(), size_);
    return scratch.subspan(size_);
  }
  if (capacity_ - size_ < kSmall) Reallocate(capacity_ + std::min(capacity_, std::max(kMaxReceive, capacity_ / 4)));
  return {bytes_.get() + size_, std::min(capacity_ - size_, kMaxReceive)};
}

std::span<char> ReadBuffer::Commit(std::span<char> scratch, size_t received) {
  if (size_ <= kSmall) return scratch.first(size_ + received);
  size_ += received;
  return kept();
}

std::shared_ptr<const void> ReadBuffer::Share() {
  if (shared_ == nullptr && size_ > kSmall) {
    shared_ = std::shared_ptr<char>(bytes_.release(), Free());
    shared_bytes_ = std::exchange(capacity_, 0);
  }
  return shared_;
}

void ReadBuffer::Keep(std::span<char> rest) {
  // Further bytes go after `rest`, so there is room for as many again at once.
  const size_t wanted = rest.empty() ? 0 : std::max(kMinCapacity, std::bit_ceil(rest.size()));
  const bool own = bytes_ != nullptr && rest.data() >= bytes_.get() && rest.data() <= bytes_.get() + size_;
  if (own && !rest.empty()) std::memmove(bytes_.get(), rest.data(), rest.size());
  if (wanted > capacity_ || (capacity_ > kIdleCapacity && wanted < capacity_ / 4)) Reallocate(wanted);
  if (!own && !rest.empty()) std::memcpy(bytes_.get(), rest.data(), rest.size());
  size_ = rest.size();
  shared_.reset();
}

void ReadBuffer::Reallocate(size_t capacity) {
  if (capacity == 0) {
    bytes_.reset();
  } else {
    char* const moved = static_cast<char*>(std::realloc(bytes_.get(), capacity));
    if (moved == nullptr) throw std::bad_alloc();
    (void)bytes_.release();
    bytes_.reset(moved);
  }
  capacity_ = capacity;
}

}  // namespace bitsieve::server
