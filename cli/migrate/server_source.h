// server_source.h: the filters of a running server: Redis with RedisBloom, Valkey or Redis with bitsieve.so, or
// Bitsieve. Small ones are read whole, many in one round trip (by DUMP, or BF.DUMP of Bitsieve), others chunk by chunk
// (by BF.SCANDUMP and CF.SCANDUMP). Confined to one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/bulk/server_client.h"
#include "cli/migrate/filter_source.h"
#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class ServerSource final : public FilterSource {
 public:
  // The client has selected the database; empty: 0.
  ServerSource(ServerClient client, const std::string& database)
      : client_(std::move(client)), database_(database.empty() ? "0" : database) {}

  core::Outcome<OtherKeys> Find(std::string_view pattern, const Visit& visit) override;
  // Reads small filters, and takes the word of the server for large ones.
  core::Outcome<std::vector<FilterSize>> Measure(std::span<const FoundFilter* const> filters) override;
  core::Outcome<void> Prepare(std::span<const FoundFilter* const> filters, bool replace) override;
  core::Outcome<std::unique_ptr<FilterCommands>> Open(const FoundFilter& filter) override;
  core::Outcome<std::optional<FilterShape>> ShapeOf(const FoundFilter& filter) override;
  std::unique_ptr<ContentReader> Contents() override { return std::make_unique<ServerContent>(client_); }

 private:
  // Returns the other databases that have keys.
  core::Outcome<std::vector<std::string>> OtherDatabases();
  // Visits the filters of the selected database if it is that of the source, and counts what else there is.
  core::Outcome<void> ScanDatabase(const std::string& database, std::string_view pattern, const Visit& visit,
                                   OtherKeys& others);
  core::Outcome<std::vector<FoundFilter>> FiltersAmong(const std::vector<Reply>& names, const std::string& database,
                                                       OtherKeys& others);
  core::Outcome<void> VisitAll(std::vector<FoundFilter> filters, const Visit& visit);

  FilterSize MeasureRead(const FoundFilter& filter, std::string_view bytes) const;

  // A filter that valkey-bloom hands out.
  core::Outcome<std::unique_ptr<FilterCommands>> OpenDump(const FoundFilter& filter);

  ServerClient client_;
  const std::string database_;
  core::MemoryBudget memory_;
  core::FilterClock clock_;
  bool has_dump_ = false;                                    // Redis' own, which only engines have
  std::unordered_map<std::string, TargetCommand> prepared_;  // by name
};

}  // namespace bitsieve::cli
