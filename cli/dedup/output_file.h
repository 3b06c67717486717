// output_file.h: a file that appears under its name when it is finished; until then it has ".new" added to its name.
// A path that exists and is no file, such as a pipe or a device, is written to directly. Confined to one thread at a
// time. Errors are for people and name the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/descriptor.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class OutputFile {
 public:
  // "-" is standard output. Nothing is opened yet.
  explicit OutputFile(std::string path);

  // Returns whether there is a file to continue after an interruption.
  bool is_regular() const { return is_regular_; }
  const std::string& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }

  // Opens the file, empty or with the first `bytes` of what an interrupted run wrote.
  core::Outcome<void> Open(uint64_t bytes = 0);
  // Takes the file to be complete, with this many bytes, so that Finish is all that is left to do.
  void Expect(uint64_t bytes) { bytes_ = synced_bytes_ = bytes; }
  core::Outcome<void> Write(std::string_view text);
  // Waits until all that was written is on the disk.
  core::Outcome<void> Sync();
  // Closes the file, which Finish and Discard may then find.
  void Close() { descriptor_.Reset(); }
  // Lets the complete file appear under its name. Nothing happens if that was done.
  core::Outcome<void> Finish();
  // Removes what was written.
  void Discard();

 private:
  std::string unfinished_path() const { return path_ + ".new"; }
  std::string Failure() const;

  std::string path_;
  bool is_regular_ = true;
  core::Descriptor descriptor_;
  uint64_t bytes_ = 0;
  uint64_t synced_bytes_ = 0;
  bool was_opened_ = false;
};

}  // namespace bitsieve::cli
