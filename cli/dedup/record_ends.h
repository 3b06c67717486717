// record_ends.h: where the records of a text end. Confined to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "cli/bulk/record_parser.h"

namespace bitsieve::cli {

class RecordEnds {
 public:
  explicit RecordEnds(const RecordFormat& format) : format_(format) {}

  struct Found {
    size_t count;    // of the ends that were found
    size_t scanned;  // offset up to which the text was scanned: after the last of them if `ends` is full
  };
  // Looks for ends in text[from..), in which a record begins at `record_begin`, not after `from`; the text before
  // `from` was scanned. Each end is the offset after a record with what ends it. Fewer than ends.size(): the text has
  // no more.
  Found Find(std::string_view text, size_t record_begin, size_t from, std::span<uint32_t> ends);
  // Begins another input.
  void Reset() { is_quoted_ = false; }

 private:
  Found FindRows(std::string_view text, size_t from, std::span<uint32_t> ends);
  Found FindFixed(std::string_view text, size_t record_begin, std::span<uint32_t> ends) const;

  const RecordFormat format_;
  bool is_quoted_ = false;  // csv: whether the text scanned so far ends within quotes
};

}  // namespace bitsieve::cli
