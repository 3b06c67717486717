#include "server/persistence/disk/file_window.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <span>

#include "core/base/bytes.h"

namespace bitsieve::server {

core::Result<std::string_view> FileWindow::Look(uint64_t offset, size_t bytes) {
  assert(offset <= size() && bytes <= size() - offset);
  if (offset < begin_ || offset + bytes > begin_ + held_) {
    if (core::Status status = MoveTo(offset, bytes); !status) return tl::unexpected(std::move(status.error()));
  }
  return core::AsText(std::span(buffer_).subspan(offset - begin_, bytes));
}

core::Status FileWindow::MoveTo(uint64_t offset, size_t bytes) {
  const size_t wanted = std::min<uint64_t>(std::max(bytes, kReadBytes), size() - offset);
  if (buffer_.size() < wanted) buffer_.resize(wanted);
  // Bytes that are in the buffer already need not be read again.
  const bool overlaps = offset >= begin_ && offset < begin_ + held_;
  const size_t kept = overlaps ? std::min<size_t>(begin_ + held_ - offset, wanted) : 0;
  if (kept != 0) std::memmove(buffer_.data(), buffer_.data() + (offset - begin_), kept);
  begin_ = offset;
  held_ = 0;  // until the rest is here, too
  const core::Status status = file_->ReadAt(offset + kept, std::span(buffer_).subspan(kept, wanted - kept));
  if (status) held_ = wanted;
  return status;
}

}  // namespace bitsieve::server
