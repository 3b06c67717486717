// whole_file.h: a file that appears under its name when it is whole and on the disk; until then it has ".new" added to
// its name. Thread-compatible.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bitsieve::clients {

class WholeFile {
 public:
  // The errors of all functions are kIo, and name the file.
  static core::Result<WholeFile> Create(const std::string& path);
  // Standard output, which has no name to appear under.
  static WholeFile StandardOutput();
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&&) = delete;
  // Removes a file that was not finished.
  ~WholeFile();

  core::Status Write(std::string_view bytes);
  // To be called after the last byte: the file appears under its name, and replaces one that has it.
  core::Status Finish();

 private:
  WholeFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string passing_path() const { return path_ + ".new"; }
  tl::unexpected<core::Error> Failure() const;

  std::string path_;  // empty: standard output
  int descriptor_;
};

}  // namespace bitsieve::clients
