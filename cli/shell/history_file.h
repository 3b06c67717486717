// history_file.h: the lines that were entered in earlier sessions, one per line of a file that only its owner can read.
// Each line is appended when it is entered, so that shells which run at the same time keep the lines of both. A file
// that cannot be read or written is no history, and no error. Confined to one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bitsieve::cli {

class HistoryFile {
 public:
  static constexpr size_t kMaxLines = 1000;

  explicit HistoryFile(std::string path) : path_(std::move(path)) {}

  // Returns the path below the XDG base directory for state; empty if the environment names no home.
  static std::string DefaultPath();

  // Returns the last lines, oldest first. A file of many more lines is cut to those.
  std::vector<std::string> Load() const;
  void Append(std::string_view line) const;

 private:
  void Write(std::string_view lines, int flags) const;

  std::string path_;
};

}  // namespace bitsieve::cli
