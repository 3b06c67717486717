#include "cli/bulk/bulk_flags.h"

#include <iostream>

namespace bitsieve::cli {

void BulkFlags::AddTo(CLI::App& command) {
  records_.AddTo(command);
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
  RecordFormat format = records_.Format();
  format.ttl_field = ttl_field_;
  return format;
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
