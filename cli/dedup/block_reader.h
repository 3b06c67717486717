// block_reader.h: reads the inputs, one after the other, into blocks that end with a record. Confined to one thread.
// Errors are for people and name the file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/bulk/input.h"
#include "cli/bulk/record_parser.h"
#include "cli/dedup/block.h"
#include "cli/dedup/record_ends.h"
#include "core/base/result.h"

namespace bitsieve::cli {

struct InputSettings {
  std::vector<std::string> paths;
  RecordFormat format;
  bool decompress = true;
  bool joins_headers = false;  // the inputs have one output, which gets the first one's header
  BlockLimits limits = {};
};

class BlockReader {
 public:
  BlockReader(const InputSettings& settings, Input::IsStopped is_stopped)
      : settings_(settings), is_stopped_(std::move(is_stopped)), ends_(settings.format) {}

  // Returns a block with the memory that Read needs.
  static Block MakeBlock(const BlockLimits& limits);
  static uint64_t BytesOfBlock(const BlockLimits& limits);

  // Begins at a position where a block ended. Called before the first Read, or not at all.
  core::Outcome<void> SkipTo(const InputPosition& position);
  // Fills the block with the next records; none at the end of the inputs, where `is_last` is set.
  core::Outcome<void> Read(Block& block);

 private:
  core::Outcome<void> OpenInput();
  void EndInput();
  core::Outcome<void> FillChunk(Block& block);
  // Looks for ends of the chunk's records in what is there. Returns whether the chunk is complete.
  bool Scan(Block& block, Chunk& chunk);
  core::Outcome<void> ReadMore(Block& block);
  // Ends a record that the input ends without.
  core::Outcome<void> EndLastRecord(Block& block, Chunk& chunk);
  core::Outcome<void> TakeHeader(const Block& block, Chunk& chunk);
  void CloseChunk(Block& block, Chunk& chunk);
  size_t RecordBegin(const Block& block, const Chunk& chunk) const;
  std::string Located(uint64_t record, const std::string& problem) const;

  const InputSettings& settings_;
  const Input::IsStopped is_stopped_;
  RecordEnds ends_;

  // The input that is being read.
  std::optional<Input> input_;
  std::shared_ptr<RecordParser> parser_;
  InputPosition position_;
  bool at_end_ = false;
  std::string_view rest_;  // of what was read last, not yet in a block

  // The block that is being filled: its text is complete records up to consumed_, and was scanned up to scanned_.
  size_t filled_ = 0;
  size_t scanned_ = 0;
  size_t consumed_ = 0;
  std::string carried_;  // text after the last record of the block before

  std::string first_header_;
  uint64_t file_bytes_before_ = 0;
};

// Returns the first record of a file, without what ends it; empty if the file is empty.
core::Outcome<std::string> FirstRecord(const std::string& path, const InputSettings& settings);

}  // namespace bitsieve::cli
