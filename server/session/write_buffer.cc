#include "server/session/write_buffer.h"

#include <sys/mman.h>

#include <cstdint>

namespace bitsieve::server {

void WriteBuffer::ReleaseSent() {
  constexpr uintptr_t kPageBytes = 4096;
  if (blocks_->front().owner != nullptr) return;
  const auto block = reinterpret_cast<uintptr_t>(blocks_->front().own.data());
  const uintptr_t begin = (block + released_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  const uintptr_t end = (block + sent_) / kPageBytes * kPageBytes;
  if (end <= begin) return;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);  // if refused, they go with the block
  released_ = end - block;
}

}  // namespace bitsieve::server
