// record_reader.h: the items of an input: lines, fields of tables or of JSON objects, or records of a fixed length,
// byte for byte as they are there. It holds a block of the input and the longest record. Confined to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bitsieve::cli {

struct RecordFormat {
  enum Kind { kLines, kNul, kCsv, kTsv, kJsonLines, kBinary };

  Kind kind = kLines;
  std::string field;  // csv, tsv: a column's number from 1 on, or its name in the first line; jsonl: a member's name
  std::string ttl_field = {};  // likewise, of the time after which the item expires; empty: none
  size_t record_bytes = 0;     // binary
  bool crlf = false;           // lines end in CR LF, of which neither belongs to the item

  bool is_table() const { return kind == kCsv || kind == kTsv; }
  // Why it makes no sense; empty if it does.
  std::string Problem() const;
};

// Both stay until the next call of Next().
struct Record {
  std::string_view item;
  std::string_view whole;  // the record that has the item, without what ends it
  uint64_t ttl_ms = 0;     // after which the item expires; 0: not stated
};

class RecordReader {
 public:
  // Longer ones are an error.
  static constexpr size_t kMaxRecordBytes = 16 << 20;

  // Bytes of the input, some at a time; empty at its end. They stay until the next call.
  using Read = std::function<core::Outcome<std::string_view>()>;

  // The format has no problem.
  RecordReader(Read read, const RecordFormat& format) : read_(std::move(read)), format_(format) {}

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
  // Sets the column of each field that a number states; returns whether the first line has to be read for another one.
  bool SetNumberedColumns();
  core::Outcome<Record> Parse(std::string_view whole);
  core::Outcome<Record> ParseRow(std::string_view row);
  core::Outcome<Record> ParseObject(std::string_view object);
  std::string Located(const std::string& problem) const;

  const Read read_;
  const RecordFormat format_;
  std::string buffer_;
  size_t begin_ = 0;     // of what is left in the buffer
  size_t scanned_ = 0;   // of that, bytes known not to end the record
  bool quoted_ = false;  // csv: whether these end within quotes
  bool at_end_ = false;
  bool is_bad_record_ = false;
  bool knows_columns_ = false;        // csv and tsv
  std::optional<size_t> column_;      // of the item, from 0 on
  std::optional<size_t> ttl_column_;  // of its time
  uint64_t records_ = 0;
  uint64_t position_ = 0;
  std::string item_;  // one that does not stand in the input as it is
  std::string cell_;  // another cell, likewise
};

}  // namespace bitsieve::cli
