// input.h: a file or standard input, decompressed on the way if it is compressed with gzip or zstd, by libarchive.
// Confined to one thread. Errors are for people and name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cli/outcome.h"

struct archive;

namespace bitsieve::cli {

class Input {
 public:
  // Asked several times a second while the input has nothing to read: true ends the wait with an error.
  using IsStopped = std::function<bool()>;

  // "-" is standard input. `decompress`: look at the first bytes whether it is compressed.
  static Outcome<Input> Open(
      const std::string& path, bool decompress, IsStopped is_stopped = [] { return false; });

  // The next bytes, as many as come at once; empty at the end. They stay until the next call.
  Outcome<std::string_view> Read();

  // Whether a read would not have to wait.
  bool IsReady() const;

  const std::string& name() const { return name_; }
  // Of the file as it lies on the disk; 0 if that is not known.
  uint64_t file_bytes() const { return file_bytes_; }
  // How much of it was read.
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
