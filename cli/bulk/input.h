// input.h: a file or standard input, decompressed on the way if it is compressed with gzip or zstd, by libarchive.
// Confined to one thread, which reads one input at a time. Errors are for people and name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

struct archive;

namespace bitsieve::cli {

class Input {
 public:
  // Called several times a second while the input has nothing to read: true ends the wait with an error.
  using IsStopped = std::function<bool()>;

  // "-" is standard input. `decompress`: the first bytes decide whether it is compressed.
  static core::Outcome<Input> Open(
      const std::string& path, bool decompress, IsStopped is_stopped = [] { return false; });

  // The next bytes, as many as come at once; empty at the end. They stay until the next call.
  core::Outcome<std::string_view> Read();

  // Whether a read would not have to wait.
  bool IsReady() const;

  const std::string& name() const { return name_; }
  // Returns the size of the file on disk, before any decompression; 0 if it is not known.
  uint64_t file_bytes() const { return file_bytes_; }
  // Returns how many of these bytes were read.
  uint64_t file_position() const;

 private:
  struct Closer {
    void operator()(archive* input) const;
  };

  Input(std::string name, int descriptor, uint64_t file_bytes, std::unique_ptr<archive, Closer> archive)
      : name_(std::move(name)), descriptor_(descriptor), file_bytes_(file_bytes), archive_(std::move(archive)) {}

  std::string name_;
  int descriptor_;  // the archive's
  uint64_t file_bytes_;
  std::unique_ptr<archive, Closer> archive_;
  bool at_end_ = false;
};

}  // namespace bitsieve::cli
