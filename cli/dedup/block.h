// block.h: a part of the input on its way through the threads: its text, where its records end, and how it is divided
// into chunks, each the work of one thread at a time. Its limits depend on the input only, so the same input is always
// divided in the same way. Confined to the thread that has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk/record_parser.h"
#include "cli/dedup/big_buffer.h"

namespace bitsieve::cli {

struct BlockLimits {
  size_t text_bytes = 32 << 20;
  size_t records = 2 << 20;
  // Limits of a chunk, which lies in the cache of a core while it is worked on.
  size_t chunk_bytes = 1 << 20;
  size_t chunk_records = 16 << 10;
  static constexpr size_t kChunks = 512;
};

// Records of one input.
struct Chunk {
  size_t input = 0;
  std::shared_ptr<const RecordParser> parser = nullptr;  // of the input's records
  bool is_header = false;                                // a first line that names columns, and is no record
  bool is_written = true;                                // false: a header that the output has already
  uint64_t records_before = 0;                           // of its input, with the header
  size_t begin = 0;                                      // of its text
  size_t first = 0;                                      // record of the block
  size_t records = 0;

  // The result, the text that is left of it: from `begin` on, with the dropped records taken out.
  size_t kept_bytes = 0;
  size_t kept_records = 0;
  size_t bad_records = 0;
  std::string compressed = {};  // in place of the text, if the output is compressed
};

// How far the inputs were read.
struct InputPosition {
  size_t input = 0;
  uint64_t bytes = 0;    // of this input, decompressed
  uint64_t records = 0;  // of this input, with its header
};

struct Block {
  BigBuffer<char> text;
  BigBuffer<uint32_t> ends;  // of each record: the offset in the text after what ends it
  size_t bytes = 0;
  size_t records = 0;
  std::vector<Chunk> chunks = {};
  InputPosition end = {};        // after the block
  uint64_t file_bytes_read = 0;  // of all inputs together, as they are on disk
  bool is_last = false;

  size_t BeginOf(const Chunk& chunk, size_t record) const {
    return record == 0 ? chunk.begin : EndOf(chunk, record - 1);
  }
  size_t EndOf(const Chunk& chunk, size_t record) const { return ends[chunk.first + record]; }
  // Returns the record with what ends it.
  std::string_view RecordOf(const Chunk& chunk, size_t record) const {
    const size_t begin = BeginOf(chunk, record);
    return {text.get() + begin, EndOf(chunk, record) - begin};
  }
  std::string_view KeptText(const Chunk& chunk) const { return {text.get() + chunk.begin, chunk.kept_bytes}; }
};

}  // namespace bitsieve::cli
