// outputs.h: where what is left of the inputs goes: one output for all, or one for each input. Confined to one thread
// at a time. Errors are for people and name the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/dedup/block.h"
#include "cli/dedup/compression.h"
#include "cli/dedup/output_file.h"
#include "core/base/result.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::cli {

class Outputs {
 public:
  // One output for all of these inputs.
  static core::Outcome<Outputs> OfAll(const std::vector<std::string>& inputs, const std::string& path, bool compress);
  // One for each input, under its name in this directory.
  static core::Outcome<Outputs> OfEach(const std::vector<std::string>& inputs, const std::string& directory,
                                       bool compress);

  // Returns how the output of an input is compressed.
  Compression CompressionOfInput(size_t input) const { return compressions_[files_.size() == 1 ? 0 : input]; }
  bool is_one() const { return is_one_; }
  // Returns whether all are files, which can be continued after an interruption.
  bool are_files() const;

  // Returns the directory of all outputs that are files.
  std::string directory() const { return server::ParentOf(files_[0].path()); }

  // Opens the first output; or continues one that was interrupted when these numbers of bytes were written.
  core::Outcome<void> Begin();
  core::Outcome<void> Continue(const std::vector<uint64_t>& bytes);
  // Takes all to be complete, with these numbers of bytes, so that Finish is all that is left to do.
  void Expect(const std::vector<uint64_t>& bytes);
  // Writes what is left of a block.
  core::Outcome<void> Write(const Block& block);
  std::vector<uint64_t> bytes() const;
  // Completes the last of them.
  core::Outcome<void> End();
  core::Outcome<void> Sync();
  // Lets all appear under their names.
  core::Outcome<void> Finish();
  void Discard();

 private:
  Outputs(std::vector<OutputFile> files, bool is_one, bool compress);
  // Makes this output the one that is written to; those before are complete.
  core::Outcome<void> AdvanceTo(size_t output);
  core::Outcome<void> Complete();

  std::vector<OutputFile> files_;
  std::vector<Compression> compressions_;
  bool is_one_;
  size_t open_ = 0;
};

}  // namespace bitsieve::cli
