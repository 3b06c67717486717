#include "cli/bulk/record_reader.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/parse.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

using nlohmann::json;

std::string_view WithoutEnd(std::string_view record, const RecordFormat& format) {
  if (format.kind == RecordFormat::kBinary) return record;
  const char end = format.kind == RecordFormat::kNul ? '\0' : '\n';
  if (record.ends_with(end)) record.remove_suffix(1);
  if ((format.crlf || format.is_table()) && record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

// The cell that begins at `at`, which moves to the next one, or beyond the row's end. What stands within quotes goes to
// `unquoted`.
std::string_view NextCell(std::string_view row, size_t& at, std::string& unquoted) {
  if (at == row.size() || row[at] != '"') {
    const size_t end = std::min(row.find(',', at), row.size());
    const std::string_view cell = row.substr(at, end - at);
    at = end + 1;
    return cell;
  }
  unquoted.clear();
  for (++at; at < row.size(); ++at) {
    if (row[at] == '"' && row.substr(at + 1, 1) != "\"") break;
    if (row[at] == '"') ++at;
    unquoted += row[at];
  }
  at = std::min(row.find(',', at), row.size()) + 1;
  return unquoted;
}

std::string_view NextTabbed(std::string_view row, size_t& at) {
  const size_t end = std::min(row.find('\t', at), row.size());
  const std::string_view cell = row.substr(at, end - at);
  at = end + 1;
  return cell;
}

}  // namespace

std::string RecordFormat::Problem() const {
  const bool has_fields = is_table() || kind == kJsonLines;
  if (has_fields && field.empty())
    return "this format needs --field, which names the part of a record that is the item";
  if (!has_fields && !field.empty()) return "--field is for the formats csv, tsv and jsonl";
  if (kind == kBinary && record_bytes == 0) return "the format binary needs --record-bytes";
  if (kind != kBinary && record_bytes != 0) return "--record-bytes is for the format binary";
  if (record_bytes > RecordReader::kMaxRecordBytes) {
    return "--record-bytes can be at most " + std::to_string(RecordReader::kMaxRecordBytes);
  }
  if (crlf && kind != kLines) return "--crlf is for the format lines";
  return "";
}

std::string RecordReader::Located(const std::string& problem) const {
  const bool is_line = format_.kind == RecordFormat::kLines || format_.kind == RecordFormat::kJsonLines;
  return (is_line ? "line " : "record ") + std::to_string(records_) + ": " + problem;
}

core::Outcome<std::optional<Record>> RecordReader::Next() {
  is_bad_record_ = false;
  if (format_.is_table() && !column_) {
    if (auto done = ReadHeader(); !done) return tl::unexpected(done.error());
  }
  const auto record = NextWhole();
  if (!record) return tl::unexpected(record.error());
  if (!*record) return std::nullopt;
  const std::string_view whole = WithoutEnd(**record, format_);
  const auto item = ItemOf(whole);
  if (item) return Record{*item, whole};
  is_bad_record_ = true;
  return tl::unexpected(Located(item.error()));
}

// A number needs none; a name has to be found in the first line.
core::Outcome<void> RecordReader::ReadHeader() {
  if (const auto number = core::ParseUnsigned(format_.field); number && *number != 0) {
    column_ = *number - 1;
    return {};
  }
  const auto header = NextWhole();
  if (!header) return tl::unexpected(header.error());
  const std::string_view row = *header ? WithoutEnd(**header, format_) : std::string_view();
  size_t number = 0;
  for (size_t at = 0; at <= row.size(); ++number) {
    const std::string_view name = format_.kind == RecordFormat::kTsv ? NextTabbed(row, at) : NextCell(row, at, item_);
    if (name == format_.field) column_ = number;
    if (column_) return {};
  }
  return tl::unexpected("the first line has no column " + core::Quoted(format_.field) + "; it is " +
                        core::Quoted(row.substr(0, 200)));
}

core::Outcome<std::string_view> RecordReader::ItemOf(std::string_view whole) {
  switch (format_.kind) {
    case RecordFormat::kCsv:
    case RecordFormat::kTsv:
      return CellOf(whole, *column_);
    case RecordFormat::kJsonLines:
      return MemberOf(whole);
    case RecordFormat::kLines:
    case RecordFormat::kNul:
    case RecordFormat::kBinary:
      break;
  }
  return whole;
}

core::Outcome<std::string_view> RecordReader::CellOf(std::string_view row, size_t column) {
  size_t number = 0;
  for (size_t at = 0; at <= row.size(); ++number) {
    const std::string_view cell = format_.kind == RecordFormat::kTsv ? NextTabbed(row, at) : NextCell(row, at, item_);
    if (number == column) return cell;
  }
  return tl::unexpected("has " + std::to_string(number) + " columns, not " + std::to_string(column + 1));
}

// A string is the item; a number, or a truth, is as JSON writes it.
core::Outcome<std::string_view> RecordReader::MemberOf(std::string_view object) {
  const json parsed = json::parse(object, nullptr, false);
  if (parsed.is_discarded()) return tl::unexpected<std::string>("is not JSON");
  if (!parsed.is_object() || !parsed.contains(format_.field)) {
    return tl::unexpected("has no member " + core::Quoted(format_.field));
  }
  const json& member = parsed[format_.field];
  if (member.is_structured() || member.is_null()) {
    return tl::unexpected("the member " + core::Quoted(format_.field) + " is neither text nor a number");
  }
  item_ = member.is_string() ? member.get<std::string>() : member.dump();
  return item_;
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
  if (format_.kind == RecordFormat::kBinary) return left.size() >= format_.record_bytes ? format_.record_bytes : 0;
  if (format_.kind == RecordFormat::kCsv) {
    for (; scanned_ < left.size(); ++scanned_) {
      if (left[scanned_] == '"') quoted_ = !quoted_;
      if (left[scanned_] == '\n' && !quoted_) return scanned_ + 1;
    }
  } else {
    const size_t end = left.find(format_.kind == RecordFormat::kNul ? '\0' : '\n', scanned_);
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
                                  std::to_string(format_.record_bytes) + ": the input ends"));
  }
  buffer_.erase(0, std::exchange(begin_, 0));
  const auto bytes = read_();
  if (!bytes) return tl::unexpected(bytes.error());
  at_end_ = bytes->empty();
  buffer_.append(*bytes);
  return !at_end_;
}

core::Outcome<void> RecordReader::SkipTo(uint64_t position, uint64_t records) {
  if (position != 0 && format_.is_table()) {
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
