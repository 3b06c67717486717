#include "cli/bulk/bulk_flags.h"

#include <iostream>
#include <map>

namespace bitsieve::cli {
namespace {

const std::map<std::string, RecordFormat::Kind>& Kinds() {
  static const std::map<std::string, RecordFormat::Kind> kKinds = {
      {"lines", RecordFormat::kLines}, {"nul", RecordFormat::kNul},         {"csv", RecordFormat::kCsv},
      {"tsv", RecordFormat::kTsv},     {"jsonl", RecordFormat::kJsonLines}, {"binary", RecordFormat::kBinary}};
  return kKinds;
}

}  // namespace

void BulkFlags::AddTo(CLI::App& command) {
  command
      .add_option("--format", format_,
                  "Format of the input: lines, nul (items end with a NUL), csv, tsv, jsonl (a JSON object per line), "
                  "or binary (records of a fixed length) [lines]")
      ->transform(CLI::IsMember(&Kinds()))
      ->type_name("FORMAT");
  command
      .add_option("--field", field_,
                  "csv, tsv: the column, by its number from 1 on, or by its name in the first line, which is then not "
                  "a record; jsonl: the member")
      ->type_name("NAME");
  command.add_option("--record-bytes", record_bytes_, "binary: the length of a record")->type_name("NUMBER");
  command.add_flag("--crlf", crlf_, "lines: they end with CR LF, and the CR is not part of the item");
  command.add_flag("--plain", plain_, "Read compressed input unchanged, without decompressing gzip and zstd");
  command.add_option("--connections", connections_, "Connections to the server [2]")
      ->check(CLI::Range(1, 64))
      ->type_name("NUMBER");
  command
      .add_option("--retry", retry_s_,
                  "Retry for this many seconds if the connection breaks or the server is busy [60]")
      ->check(CLI::Range(0, 86400))
      ->type_name("seconds");
  connection_.AddTo(command);
  flags_.AddFileTo(command);
}

void BulkFlags::AddTtlFieldTo(CLI::App& command) {
  command
      .add_option("--ttl-field", ttl_field_,
                  "csv, tsv, jsonl: the field with the time after which the item expires, for filters of type "
                  "expiring: a number of seconds, or a duration such as 30m; empty or missing: the filter's TTL")
      ->type_name("NAME");
}

RecordFormat BulkFlags::Format() const {
  return {.kind = Kinds().at(format_),
          .field = field_,
          .ttl_field = ttl_field_,
          .record_bytes = record_bytes_,
          .crlf = crlf_};
}

std::optional<Pipeline::Settings> BulkFlags::Settings(const CLI::App& command) const {
  if (const std::string problem = Format().Problem(); !problem.empty()) {
    std::cerr << "bitsieve " << command.get_name() << ": " << problem << '\n';
    return std::nullopt;
  }
  auto server = ServerOf(command, connection_, flags_);
  if (!server) return std::nullopt;
  return Pipeline::Settings{.target = std::move(server->target),
                            .credentials = std::move(server->credentials),
                            .connections = connections_,
                            .retry = std::chrono::seconds(retry_s_)};
}

}  // namespace bitsieve::cli
