// read_buffer.h: the bytes of one connection that were received and are not done with. A connection without any holds
// no memory: it reads into a scratch area that the connections of its loop share, and only what is left there after
// parsing is kept here. What is long (a huge argument under way) is received in place instead.
//
// It grows with what was really received, at most doubling, and by a quarter when it is large, whatever lengths a
// client declares, and gives memory back as soon as the bytes are gone. Confined to its loop.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

#include "server/session/session.h"

namespace bitsieve::server {

class ReadBuffer final : public ArgumentBytes {
 public:
  static constexpr size_t kMinScratch = 32 * 1024;

  // Returns where the next bytes go: into `scratch`, of at least kMinScratch bytes, after a copy of what is kept, or
  // right after what is kept. Throws std::bad_alloc.
  std::span<char> Prepare(std::span<char> scratch);
  // `received` bytes were put there. Returns all bytes at hand, to be parsed.
  std::span<char> Commit(std::span<char> scratch, size_t received);
  // All bytes that are kept, to be parsed without receiving any.
  std::span<char> kept() { return {shared_ ? shared_.get() : bytes_.get(), size_}; }
  // `rest`, the end of what Commit() or kept() returned, is not done with; everything before is. Throws std::bad_alloc.
  void Keep(std::span<char> rest);

  // While what Commit() or kept() returned is being worked on. Null if it is in the scratch area, or short.
  std::shared_ptr<const void> Share() override;
  size_t shared_bytes() const override { return shared_bytes_; }

  size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(char* bytes) const { std::free(bytes); }
  };
  static constexpr size_t kSmall = kMinScratch / 2;   // up to here bytes are copied into the scratch area
  static constexpr size_t kMaxReceive = 1024 * 1024;  // bytes received at once, so that no client holds the loop
  static constexpr size_t kMinCapacity = 512;
  static constexpr size_t kIdleCapacity = 4 * 1024;  // what an empty buffer may hold on to

  void Reallocate(size_t capacity);

  std::unique_ptr<char, Free> bytes_;
  std::shared_ptr<char> shared_;  // what was in bytes_, from Share() to Keep()
  size_t shared_bytes_ = 0;       // its capacity
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace bitsieve::server
