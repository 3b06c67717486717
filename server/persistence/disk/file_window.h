// file_window.h: a file seen through a window that moves forward: large reads for many small looks, and memory that
// follows what is looked at, not the file. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "server/persistence/disk/checked_file.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

class FileWindow {
 public:
  explicit FileWindow(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}

  uint64_t size() const { return file_->size(); }
  // The bytes [offset, offset + bytes), which lie within the file. Valid until the next call.
  core::Result<std::string_view> Look(uint64_t offset, size_t bytes);

 private:
  static constexpr size_t kReadBytes = 1 << 20;

  core::Status MoveTo(uint64_t offset, size_t bytes);

  std::unique_ptr<ReadableFile> file_;
  ChunkBuffer buffer_;
  uint64_t begin_ = 0;  // of what the buffer holds, in the file
  size_t held_ = 0;     // bytes of it
};

}  // namespace bitsieve::server
