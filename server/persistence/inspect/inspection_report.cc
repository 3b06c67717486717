#include "server/persistence/inspect/inspection_report.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/quote.h"
#include "server/persistence/disk/data_directory.h"

namespace bitsieve::server {
namespace {

using Row = std::vector<std::string>;
// ordered_json keeps the fields as they are written here.
using Json = nlohmann::ordered_json;

std::string TimeOf(int64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  char text[64];
  const bool fits =
      gmtime_r(&seconds, &parts) != nullptr && std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) != 0;
  return fits ? text : std::to_string(unix_ms) + " ms";
}

std::string HexOf(uint64_t number) { return fmt::format("{:016x}", number); }

std::string FileNameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Indented, each column as wide as its widest cell.
std::string TableOf(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = "  ";
    for (size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] + 2 - row[i].size(), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string SnapshotText(const Inspection& found) {
  std::string text = found.path + ": ";
  if (found.has_manifest) {
    text += fmt::format("snapshot {} of {}, log position {}", found.manifest.snapshot_number,
                        TimeOf(found.manifest.saved_unix_ms), found.manifest.log_position);
  } else {
    text += "no readable snapshot";
  }
  if (!found.lock_holder.empty()) {
    text += "\nin use by " + found.lock_holder + ": the following may have changed since it was read";
  }
  return text + '\n';
}

std::string KindText(const InspectedFilter& filter) {
  std::string text(core::FilterTypeName(filter.summary->type));
  if (filter.entry.freezing) text += ", freezing";
  if (filter.summary->false_positives != 0) {
    text += ", " + std::to_string(filter.summary->false_positives) + " false positives";
  }
  return text;
}

// "17.filter", or "17.filter:3" of the record of a pack.
std::string PlaceText(const InspectedFilter& filter) {
  return FileNameOf(filter.path) + (filter.record ? ":" + std::to_string(*filter.record) : "");
}

std::string FiltersText(const Inspection& found) {
  if (found.filters.empty()) return "\nfilters: none\n";
  std::vector<Row> rows{
      {"name", "kind", "capacity", "items", "bytes", "file", "file bytes", "checksum", "id", "sequence", "expires"}};
  for (const InspectedFilter& filter : found.filters) {
    const ManifestEntry& entry = filter.entry;
    Row row{core::PrintableName(entry.name), "unreadable", "-", "-", "-"};
    if (filter.summary) {
      row = {row[0], KindText(filter), std::to_string(filter.summary->capacity), std::to_string(filter.summary->items),
             std::to_string(filter.body_bytes)};
    }
    row.insert(row.end(), {PlaceText(filter), std::to_string(entry.seal.bytes), HexOf(entry.seal.checksum),
                           std::to_string(entry.filter_id), std::to_string(entry.sequence),
                           entry.expires_unix_ms == 0 ? "never" : TimeOf(entry.expires_unix_ms)});
    rows.push_back(std::move(row));
  }
  return "\nfilters: " + std::to_string(found.filters.size()) + '\n' + TableOf(rows);
}

std::string RecordsText(const InspectedSegment& segment) {
  std::vector<std::string> counts;
  for (size_t i = 1; i <= log::kRecordKinds; ++i) {
    const std::string_view name = log::NameOf(static_cast<log::RecordKind>(i));
    if (segment.records[i] != 0) counts.push_back(fmt::format("{} {}", segment.records[i], name));
  }
  return counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, ", "));
}

std::string CutText(const std::string& what, const LogCut& cut) {
  return fmt::format("  {} at position {}, {} bytes with {} readable records after it: {}\n", what, cut.position,
                     cut.lost_bytes, cut.lost_records, cut.reason);
}

std::string LogText(const Inspection& found) {
  if (found.log.empty()) return "\nlog: none\n";
  std::vector<Row> rows{{"file", "start", "bytes", "records"}};
  for (const InspectedSegment& segment : found.log) {
    rows.push_back({FileNameOf(segment.path), std::to_string(segment.start), std::to_string(segment.bytes),
                    found.verified ? RecordsText(segment) : "not read"});
  }
  std::string text =
      fmt::format("\nlog: {} segment{}\n{}", found.log.size(), found.log.size() == 1 ? "" : "s", TableOf(rows));
  if (found.verified) {
    text += fmt::format("  {} records up to position {}; {} filter files are referred to\n", found.scan.records,
                        found.scan.end, found.images);
  }
  if (found.newest_segment) text += "  the newest segment is " + LogFileName(*found.newest_segment) + '\n';
  if (found.scan.torn) text += CutText("a torn end, as a crash or a server at work leaves it,", *found.scan.torn);
  if (found.scan.damage) text += CutText("damage", *found.scan.damage);
  return text;
}

std::string FilesText(const std::string& title, const std::vector<InspectedFile>& files) {
  if (files.empty()) return fmt::format("\n{}: none\n", title);
  std::string text = fmt::format("\n{}: {}\n", title, files.size());
  for (const InspectedFile& file : files) text += fmt::format("  {}, {} bytes\n", file.path, file.bytes);
  return text;
}

std::string LeftoversText(const Inspection& found) {
  const bool may_be_images = !found.verified && !found.log.empty() && !found.leftovers.empty();
  return FilesText(
      may_be_images ? "files that the manifest does not name, but the log may (--verify checks)" : "leftovers",
      found.leftovers);
}

std::string VerdictText(const Inspection& found) {
  std::string text;
  for (const std::string& line : found.unreadable) text += "cannot be read: " + line + '\n';
  for (const std::string& line : found.damage) text += "DAMAGE: " + line + '\n';
  if (text.empty()) {
    text = found.verified ? "everything is intact: every byte was verified\n"
                          : "no damage was found in the heads of the files; --verify reads every byte\n";
  }
  return "\n" + text;
}

Json CutJson(const std::optional<LogCut>& cut) {
  if (!cut) return nullptr;
  return {{"file", cut->path},
          {"offset", cut->offset},
          {"position", cut->position},
          {"lost_bytes", cut->lost_bytes},
          {"lost_records", cut->lost_records},
          {"reason", cut->reason}};
}

Json FilterJson(const InspectedFilter& filter) {
  Json json{{"name", filter.entry.name},
            {"file", filter.path},
            {"record", filter.record ? Json(*filter.record) : Json(nullptr)},
            {"file_bytes", filter.entry.seal.bytes},
            {"checksum", HexOf(filter.entry.seal.checksum)},
            {"filter_id", filter.entry.filter_id},
            {"sequence", filter.entry.sequence},
            {"freezing", filter.entry.freezing},
            {"expires_unix_ms", filter.entry.expires_unix_ms}};
  json["readable"] = filter.summary.has_value();
  if (!filter.summary) return json;
  json["kind"] = core::FilterTypeName(filter.summary->type);
  json["capacity"] = filter.summary->capacity;
  json["items"] = filter.summary->items;
  json["false_positives"] = filter.summary->false_positives;
  json["bytes"] = filter.body_bytes;
  return json;
}

Json LogJson(const Inspection& found) {
  Json json{{"segments", Json::array()}};
  for (const InspectedSegment& segment : found.log) {
    Json each{{"file", segment.path}, {"start", segment.start}, {"bytes", segment.bytes}};
    for (size_t i = 1; found.verified && i <= log::kRecordKinds; ++i) {
      each["records"][std::string(log::NameOf(static_cast<log::RecordKind>(i)))] = segment.records[i];
    }
    json["segments"].push_back(std::move(each));
  }
  json["newest_segment"] = found.newest_segment ? Json(*found.newest_segment) : Json(nullptr);
  if (!found.verified) return json;
  json["records"] = found.scan.records;
  json["end"] = found.scan.end;
  json["images"] = found.images;
  json["torn"] = CutJson(found.scan.torn);
  json["damage"] = CutJson(found.scan.damage);
  return json;
}

Json FilesJson(const std::vector<InspectedFile>& files) {
  Json json = Json::array();
  for (const InspectedFile& file : files) json.push_back({{"file", file.path}, {"bytes", file.bytes}});
  return json;
}

Json SnapshotJson(const Inspection& found) {
  if (!found.has_manifest) return nullptr;
  return {{"number", found.manifest.snapshot_number},    {"saved_unix_ms", found.manifest.saved_unix_ms},
          {"log_position", found.manifest.log_position}, {"has_log", found.manifest.has_log},
          {"next_file_id", found.manifest.next_file_id}, {"next_filter_id", found.manifest.next_filter_id}};
}

}  // namespace

std::string TextOf(const Inspection& found) {
  return SnapshotText(found) + FiltersText(found) + LogText(found) + LeftoversText(found) +
         FilesText("quarantine", found.quarantined) + VerdictText(found);
}

std::string JsonOf(const Inspection& found) {
  Json json{{"directory", found.path}, {"verified", found.verified}, {"in_use_by", found.lock_holder}};
  json["snapshot"] = SnapshotJson(found);
  json["filters"] = Json::array();
  for (const InspectedFilter& filter : found.filters) json["filters"].push_back(FilterJson(filter));
  json["log"] = LogJson(found);
  json["leftovers"] = FilesJson(found.leftovers);
  json["quarantine"] = FilesJson(found.quarantined);
  json["damage"] = found.damage;
  json["unreadable"] = found.unreadable;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace bitsieve::server
