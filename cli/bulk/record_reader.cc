#include "cli/bulk/record_reader.h"

#include <algorithm>
#include <utility>

namespace bitsieve::cli {

core::Outcome<std::optional<Record>> RecordReader::Next() {
  is_bad_record_ = false;
  if (format().is_table() && !knows_columns_) {
    if (auto done = ReadHeader(); !done) return tl::unexpected(done.error());
  }
  const auto record = NextWhole();
  if (!record) return tl::unexpected(record.error());
  if (!*record) return std::nullopt;
  const std::string_view whole = WithoutEnd(**record, format());
  auto parsed = parser_.Parse(whole);
  if (parsed) return *parsed;
  is_bad_record_ = true;
  return tl::unexpected(Located(parsed.error()));
}

// A column's number needs no header; a name has to be found in the first line.
core::Outcome<void> RecordReader::ReadHeader() {
  knows_columns_ = true;
  if (!parser_.needs_header()) return {};
  const auto header = NextWhole();
  if (!header) return tl::unexpected(header.error());
  return parser_.ReadHeader(*header ? WithoutEnd(**header, format()) : std::string_view());
}

core::Outcome<std::optional<std::string_view>> RecordReader::NextWhole() {
  while (true) {
    if (const size_t bytes = FindEnd(); bytes != 0) {
      const std::string_view record = std::string_view(buffer_).substr(begin_, bytes);
      begin_ += bytes;
      position_ += bytes;
      scanned_ = 0;
      quoted_ = false;
      ++records_;
      return record;
    }
    if (at_end_ && begin_ == buffer_.size()) return std::nullopt;
    if (buffer_.size() - begin_ > kMaxRecordBytes) {
      ++records_;
      return tl::unexpected(Located("is longer than " + std::to_string(kMaxRecordBytes) + " bytes"));
    }
    const auto filled = Fill();
    if (!filled) return tl::unexpected(filled.error());
  }
}

size_t RecordReader::FindEnd() {
  const std::string_view left = std::string_view(buffer_).substr(begin_);
  if (format().kind == RecordFormat::kBinary) return left.size() >= format().record_bytes ? format().record_bytes : 0;
  if (format().kind == RecordFormat::kCsv) {
    for (; scanned_ < left.size(); ++scanned_) {
      if (left[scanned_] == '"') quoted_ = !quoted_;
      if (left[scanned_] == '\n' && !quoted_) return scanned_ + 1;
    }
  } else {
    const size_t end = left.find(format().end(), scanned_);
    if (end != std::string_view::npos) return end + 1;
    scanned_ = left.size();
  }
  return at_end_ ? left.size() : 0;
}

// False at the end of the input.
core::Outcome<bool> RecordReader::Fill() {
  if (at_end_) {  // of binary records alone: others end with the input
    ++records_;
    return tl::unexpected(Located("has " + std::to_string(buffer_.size() - begin_) + " bytes, not " +
                                  std::to_string(format().record_bytes) + ": the input ends"));
  }
  buffer_.erase(0, std::exchange(begin_, 0));
  const auto bytes = read_();
  if (!bytes) return tl::unexpected(bytes.error());
  at_end_ = bytes->empty();
  buffer_.append(*bytes);
  return !at_end_;
}

core::Outcome<void> RecordReader::SkipTo(uint64_t position, uint64_t records) {
  if (position != 0 && format().is_table()) {
    if (auto done = ReadHeader(); !done) return done;
  }
  while (position_ < position) {
    if (begin_ == buffer_.size()) {
      const auto filled = Fill();
      if (!filled) return tl::unexpected(filled.error());
      if (!*filled) return tl::unexpected<std::string>("the input is shorter than when it was loaded before");
    }
    const size_t bytes = std::min<uint64_t>(buffer_.size() - begin_, position - position_);
    begin_ += bytes;
    position_ += bytes;
  }
  records_ = records;
  scanned_ = 0;
  quoted_ = false;
  return {};
}

}  // namespace bitsieve::cli
