// record_parser.h: what a record of an input is, and which part of it is the item: lines, fields of tables or of JSON
// objects, or records of a fixed length, byte for byte as they are there. Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // Returns whether the item is a field, not the whole record.
  bool has_fields() const { return is_table() || kind == kJsonLines; }
  // Returns the byte that ends a record; the format binary has none.
  char end() const { return kind == kNul ? '\0' : '\n'; }
  // Why it makes no sense; empty if it does.
  std::string Problem() const;
};

// All of it stays until the next record is parsed, and as long as the input does.
struct Record {
  std::string_view item;
  std::string_view whole;  // the record that has the item, without what ends it
  uint64_t ttl_ms = 0;     // after which the item expires; 0: not stated
};

// Longer records are an error.
inline constexpr size_t kMaxRecordBytes = 16 << 20;

// Returns the record without what ends it.
std::string_view WithoutEnd(std::string_view record, const RecordFormat& format);

class RecordParser {
 public:
  // The format has no problem.
  explicit RecordParser(const RecordFormat& format) : format_(format) {}

  // Returns whether the first record of an input is no record but names the columns, for ReadHeader.
  bool needs_header() const { return needs_header_; }
  // Finds the columns by their names. The error says that one is missing.
  core::Outcome<void> ReadHeader(std::string_view row);

  // Parses a record without what ends it. The error says what is wrong with the record.
  core::Outcome<Record> Parse(std::string_view whole);
  // Returns "line 7: problem".
  std::string Located(uint64_t record, const std::string& problem) const;

  const RecordFormat& format() const { return format_; }

 private:
  // Sets the column of each field that a number states. Returns whether there is another field of a table.
  bool SetNumberedColumns();
  core::Outcome<Record> ParseRow(std::string_view row);
  core::Outcome<Record> ParseObject(std::string_view object);

  RecordFormat format_;
  std::optional<size_t> column_;              // of the item, from 0 on
  std::optional<size_t> ttl_column_;          // of its time
  bool needs_header_ = SetNumberedColumns();  // after the columns, which it sets
  std::string item_;                          // one that does not stand in the input as it is
  std::string cell_;                          // another cell, likewise
};

}  // namespace bitsieve::cli
