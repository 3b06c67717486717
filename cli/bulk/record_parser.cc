#include "cli/bulk/record_parser.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/duration.h"
#include "core/base/parse.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

using nlohmann::json;

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

std::string_view NextCellOf(RecordFormat::Kind kind, std::string_view row, size_t& at, std::string& unquoted) {
  return kind == RecordFormat::kTsv ? NextTabbed(row, at) : NextCell(row, at, unquoted);
}

// A number of seconds, or a duration; 0 for an empty text.
core::Outcome<uint64_t> ParseTtlMs(std::string_view text) {
  constexpr uint64_t kMaxMs = INT64_MAX;
  constexpr double kMsPerSecond = 1000;
  if (text.empty()) return 0;
  if (const auto ms = core::ParseDuration(text, kMaxMs); ms && *ms != 0) return *ms;
  const auto seconds = core::ParseDouble(text);
  if (seconds && *seconds * kMsPerSecond >= 1 && *seconds < 1e12) return std::llround(*seconds * kMsPerSecond);
  return tl::unexpected("has the time " + core::Quoted(text.substr(0, 200)) +
                        ", which is neither a number of seconds nor a duration such as 90s, 30m or 24h");
}

// A string is taken as it is; a number, or a truth, as JSON writes it.
core::Outcome<std::string> TextOf(const json& object, const std::string& name) {
  const json& member = object[name];
  if (member.is_structured() || member.is_null()) {
    return tl::unexpected("the member " + core::Quoted(name) + " is neither text nor a number");
  }
  return member.is_string() ? member.get<std::string>() : member.dump();
}

}  // namespace

std::string_view WithoutEnd(std::string_view record, const RecordFormat& format) {
  if (format.kind == RecordFormat::kBinary) return record;
  if (record.ends_with(format.end())) record.remove_suffix(1);
  if ((format.crlf || format.is_table()) && record.ends_with('\r')) record.remove_suffix(1);
  return record;
}

std::string RecordFormat::Problem() const {
  if (has_fields() && field.empty())
    return "this format needs --field, which names the part of a record that is the item";
  if (!has_fields() && !field.empty()) return "--field is for the formats csv, tsv and jsonl";
  if (!has_fields() && !ttl_field.empty()) return "--ttl-field is for the formats csv, tsv and jsonl";
  if (kind == kBinary && record_bytes == 0) return "the format binary needs --record-bytes";
  if (kind != kBinary && record_bytes != 0) return "--record-bytes is for the format binary";
  if (record_bytes > kMaxRecordBytes) {
    return "--record-bytes can be at most " + std::to_string(kMaxRecordBytes);
  }
  if (crlf && kind != kLines) return "--crlf is for the format lines";
  return "";
}

std::string RecordParser::Located(uint64_t record, const std::string& problem) const {
  const bool is_line = format_.kind == RecordFormat::kLines || format_.kind == RecordFormat::kJsonLines;
  return (is_line ? "line " : "record ") + std::to_string(record) + ": " + problem;
}

bool RecordParser::SetNumberedColumns() {
  const auto set = [](const std::string& field, std::optional<size_t>& column) {
    const auto number = core::ParseUnsigned(field);
    if (number && *number != 0) column = *number - 1;
    return field.empty() || column.has_value();
  };
  const bool has_item = set(format_.field, column_);
  return (!set(format_.ttl_field, ttl_column_) || !has_item) && format_.is_table();
}

core::Outcome<void> RecordParser::ReadHeader(std::string_view row) {
  needs_header_ = false;
  size_t number = 0;
  for (size_t at = 0; at <= row.size(); ++number) {
    const std::string_view name = NextCellOf(format_.kind, row, at, cell_);
    if (!column_ && name == format_.field) column_ = number;
    if (!ttl_column_ && !format_.ttl_field.empty() && name == format_.ttl_field) ttl_column_ = number;
  }
  const bool has_ttl = format_.ttl_field.empty() || ttl_column_;
  if (column_ && has_ttl) return {};
  return tl::unexpected("the first line has no column " + core::Quoted(column_ ? format_.ttl_field : format_.field) +
                        "; it is " + core::Quoted(row.substr(0, 200)));
}

core::Outcome<Record> RecordParser::Parse(std::string_view whole) {
  if (format_.is_table()) return ParseRow(whole);
  if (format_.kind == RecordFormat::kJsonLines) return ParseObject(whole);
  return Record{whole, whole};
}

core::Outcome<Record> RecordParser::ParseRow(std::string_view row) {
  const size_t last = std::max(*column_, ttl_column_.value_or(0));
  Record record{{}, row};
  size_t number = 0;
  bool has_item = false;
  for (size_t at = 0; at <= row.size() && number <= last; ++number) {
    const bool is_item = number == *column_;
    const std::string_view cell = NextCellOf(format_.kind, row, at, is_item ? item_ : cell_);
    if (is_item) record.item = cell;
    has_item |= is_item;
    if (number != ttl_column_) continue;
    const auto ttl_ms = ParseTtlMs(cell);
    if (!ttl_ms) return tl::unexpected(ttl_ms.error());
    record.ttl_ms = *ttl_ms;
  }
  if (has_item) return record;
  return tl::unexpected("has " + std::to_string(number) + " columns, not " + std::to_string(*column_ + 1));
}

core::Outcome<Record> RecordParser::ParseObject(std::string_view object) {
  const json parsed = json::parse(object, nullptr, false);
  if (parsed.is_discarded()) return tl::unexpected<std::string>("is not JSON");
  if (!parsed.is_object() || !parsed.contains(format_.field)) {
    return tl::unexpected("has no member " + core::Quoted(format_.field));
  }
  auto item = TextOf(parsed, format_.field);
  if (!item) return tl::unexpected(item.error());
  item_ = std::move(*item);
  Record record{item_, object};
  const bool has_ttl = parsed.contains(format_.ttl_field) && !parsed[format_.ttl_field].is_null();
  if (format_.ttl_field.empty() || !has_ttl) return record;
  const auto ttl_ms =
      TextOf(parsed, format_.ttl_field).and_then([](const std::string& text) { return ParseTtlMs(text); });
  if (!ttl_ms) return tl::unexpected(ttl_ms.error());
  record.ttl_ms = *ttl_ms;
  return record;
}

}  // namespace bitsieve::cli
