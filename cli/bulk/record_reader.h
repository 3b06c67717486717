// record_reader.h: the items of an input: lines, fields of tables or of JSON objects, or records of a fixed length,
// byte for byte as they are there. It holds a block of the input and the longest record. Confined to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cli/bulk/record_parser.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class RecordReader {
 public:
  // Bytes of the input, some at a time; empty at its end. They stay until the next call.
  using Read = std::function<core::Outcome<std::string_view>()>;

  // The format has no problem.
  RecordReader(Read read, const RecordFormat& format) : read_(std::move(read)), parser_(format) {}

  // Nothing at the end. An error of reading ends the input; one of a record does not: is_bad_record() is true then, and
  // the next call goes on after it.
  core::Outcome<std::optional<Record>> Next();
  bool is_bad_record() const { return is_bad_record_; }

  // Before the first record: passes over what was done before. The error says that the input is shorter.
  core::Outcome<void> SkipTo(uint64_t position, uint64_t records);

  uint64_t records() const { return records_; }
  // In the input, decompressed: after the last record, with what ends it.
  uint64_t position() const { return position_; }

 private:
  core::Outcome<void> ReadHeader();
  // The next record with its end; nothing at the end of the input.
  core::Outcome<std::optional<std::string_view>> NextWhole();
  // The length of the first record of the buffer with its end, 0 if more bytes are needed to know.
  size_t FindEnd();
  core::Outcome<bool> Fill();
  const RecordFormat& format() const { return parser_.format(); }
  std::string Located(const std::string& problem) const { return parser_.Located(records_, problem); }

  const Read read_;
  RecordParser parser_;
  std::string buffer_;
  size_t begin_ = 0;     // of what is left in the buffer
  size_t scanned_ = 0;   // of that, bytes known not to end the record
  bool quoted_ = false;  // csv: whether these end within quotes
  bool at_end_ = false;
  bool is_bad_record_ = false;
  bool knows_columns_ = false;  // csv and tsv
  uint64_t records_ = 0;
  uint64_t position_ = 0;
};

}  // namespace bitsieve::cli
