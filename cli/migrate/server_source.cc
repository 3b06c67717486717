#include "cli/migrate/server_source.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>

#include "cli/migrate/dump_commands.h"
#include "commands/keyspace.h"
#include "core/base/clock.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_type.h"
#include "protocol/rdb/rdb_file.h"

namespace bitsieve::cli {
namespace {

constexpr std::string_view kNamesOfAScan = "512";
constexpr uint64_t kSmallBytes = 64 << 10;

// A filter that was read ahead.
class WholeFilter final : public FilterCommands {
 public:
  WholeFilter(TargetCommand command, bool are_all) : command_(std::move(command)), are_all_(are_all) {}

  core::Outcome<std::optional<TargetCommand>> Next() override { return std::exchange(command_, std::nullopt); }
  bool are_all() const override { return are_all_; }

 private:
  std::optional<TargetCommand> command_;
  bool are_all_;
};

class ScannedChunks final : public FilterCommands {
 public:
  ScannedChunks(ServerClient& client, const FoundFilter& filter) : client_(client), filter_(filter) {}

  core::Outcome<std::optional<TargetCommand>> Next() override {
    const std::string_view family = filter_.is_cuckoo ? "CF" : "BF";
    auto reply = client_.Ask({std::string(family) + ".SCANDUMP", filter_.name, cursor_});
    if (!reply) return tl::unexpected(reply.error());
    if (reply->is_error()) return tl::unexpected("the old server: " + reply->text);
    if (reply->elements.size() != 2)
      return tl::unexpected<std::string>("the old server's reply is not a chunk of a dump");
    const int64_t next = reply->elements[0].integer;
    if (next == 0) return cursor_ == "0" ? Empty() : std::nullopt;
    cursor_ = std::to_string(next);
    return TargetCommand{.command = std::string(family) + ".LOADCHUNK",
                         .arguments = {cursor_, std::move(reply->elements[1].text)}};
  }

 private:
  // CF.SCANDUMP has nothing to say of a filter without items: it is made again.
  core::Outcome<std::optional<TargetCommand>> Empty() {
    if (std::exchange(is_made_, true)) return std::nullopt;
    const auto info = client_.Ask({"CF.INFO", filter_.name});
    if (!info) return tl::unexpected(info.error());
    if (info->is_error()) return tl::unexpected("the old server: " + info->text);
    const auto field = [&info](std::string_view name) { return std::to_string(info->NumberOf(name)); };
    const uint64_t slots = info->NumberOf("Number of buckets") * info->NumberOf("Bucket size");
    return TargetCommand{.command = "CF.RESERVE",
                         .arguments = {std::to_string(slots), "BUCKETSIZE", field("Bucket size"), "MAXITERATIONS",
                                       field("Max iterations"), "EXPANSION", field("Expansion rate")}};
  }

  ServerClient& client_;
  const FoundFilter& filter_;
  std::string cursor_ = "0";
  bool is_made_ = false;
};

}  // namespace

core::Outcome<OtherKeys> ServerSource::Find(std::string_view pattern, const Visit& visit) {
  const auto dump = client_.Ask({"DUMP", ""});
  if (!dump) return tl::unexpected(dump.error());
  has_dump_ = !dump->is_error();
  const auto databases = OtherDatabases();
  if (!databases) return tl::unexpected(databases.error());
  OtherKeys others;
  auto found = ScanDatabase(database_, pattern, visit, others);
  for (const std::string& database : *databases) {
    if (!found) break;
    const auto selected = client_.Ask({"SELECT", database});
    if (!selected) return tl::unexpected(selected.error());
    if (!selected->is_error()) found = ScanDatabase(database, pattern, visit, others);
  }
  if (found && !databases->empty()) {
    const auto selected = client_.Ask({"SELECT", database_});
    if (!selected) return tl::unexpected(selected.error());
  }
  if (!found) return tl::unexpected(found.error());
  return others;
}

// INFO has a line "db3:keys=5,..." for each database that has keys. A user without INFO gets an error, and learns only
// of the source's own.
core::Outcome<std::vector<std::string>> ServerSource::OtherDatabases() {
  const auto info = client_.Ask({"INFO", "keyspace"});
  if (!info) return tl::unexpected(info.error());
  std::vector<std::string> databases;
  std::istringstream lines(info->is_error() ? "" : info->text);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (line.starts_with("db") && colon != std::string::npos && line.substr(0, colon) != "db" + database_) {
      databases.push_back(line.substr(2, colon - 2));
    }
  }
  return databases;
}

core::Outcome<void> ServerSource::ScanDatabase(const std::string& database, std::string_view pattern,
                                               const Visit& visit, OtherKeys& others) {
  std::unordered_set<std::string> seen;  // SCAN may give a name twice
  std::string cursor = "0";
  do {
    auto page = client_.Ask({"SCAN", cursor, "MATCH", pattern, "COUNT", kNamesOfAScan});
    if (!page) return tl::unexpected(page.error());
    if (page->is_error() || page->elements.size() != 2) return tl::unexpected("SCAN: " + page->text);
    cursor = page->elements[0].text;
    std::vector<Reply>& names = page->elements[1].elements;
    std::erase_if(names, [&seen](const Reply& name) { return !seen.insert(name.text).second; });
    auto filters = FiltersAmong(names, database, others);
    if (!filters) return tl::unexpected(filters.error());
    if (auto visited = VisitAll(std::move(*filters), visit); !visited) return visited;
  } while (cursor != "0");
  return {};
}

// Returns the filters of the source's database among the names, and counts what else there is.
core::Outcome<std::vector<FoundFilter>> ServerSource::FiltersAmong(const std::vector<Reply>& names,
                                                                   const std::string& database, OtherKeys& others) {
  PipelinedCommands types(client_);
  for (const Reply& name : names) types.Add({"TYPE", name.text});
  const auto type_of = types.Ask();
  if (!type_of) return tl::unexpected(type_of.error());
  std::vector<FoundFilter> filters;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& type = type_of->at(i).text;
    if (type == "none") continue;
    const bool is_cuckoo = type == core::kCuckooValueName;
    const bool is_valkeys = type == core::kValkeyBloomValueName;
    const bool is_filter = is_cuckoo || is_valkeys || type == core::kBloomValueName;
    if (database != database_ && (is_filter || !SketchNoun(type).empty())) {
      ++others.counts[(is_filter ? "filter of database " : "sketch of database ") + database];
    } else if (is_filter) {
      filters.push_back({.name = names[i].text, .is_cuckoo = is_cuckoo, .is_valkeys = is_valkeys});
    } else if (!SketchNoun(type).empty()) {
      others.sketches.Add(type, names[i].text);
    } else {
      ++others.counts[type];
    }
  }
  return filters;
}

core::Outcome<void> ServerSource::VisitAll(std::vector<FoundFilter> filters, const Visit& visit) {
  PipelinedCommands details(client_);
  for (const FoundFilter& each : filters) {
    details.Add({each.is_cuckoo ? "CF.INFO" : "BF.INFO", each.name});
    details.Add({"PTTL", each.name});
    details.Add({"PEXPIRETIME", each.name});  // which Redis below 7.0 does not know
  }
  const auto replies = details.Ask();
  if (!replies) return tl::unexpected(replies.error());
  const int64_t now_ms = core::SystemClock().WallMs();
  for (size_t i = 0; i < filters.size(); ++i) {
    filters[i].bytes = replies->at(3 * i).NumberOf("Size");
    const int64_t left_ms = replies->at(3 * i + 1).integer;
    const Reply& expires = replies->at(3 * i + 2);
    if (left_ms == -2) continue;  // it ended meanwhile
    if (left_ms >= 0) filters[i].expires_ms = expires.is_error() ? now_ms + left_ms : expires.integer;
    visit(std::move(filters[i]));
  }
  return {};
}

core::Outcome<std::vector<FilterSize>> ServerSource::Measure(std::span<const FoundFilter* const> filters) {
  PipelinedCommands questions(client_);
  for (const FoundFilter* each : filters) {
    questions.Add({"MEMORY", "USAGE", each->name});
    questions.Add({"BF.INFO", each->name, "TYPE"});  // which RedisBloom does not know, and bitsieve.so not of cuckoos
    if (each->bytes <= kSmallBytes) questions.Add({has_dump_ ? "DUMP" : "BF.DUMP", each->name});
  }
  const auto replies = questions.Ask();
  if (!replies) return tl::unexpected("the old server: " + replies.error());
  auto reply = replies->begin();
  std::vector<FilterSize> sizes;
  for (const FoundFilter* each : filters) {
    const Reply& usage = *reply++;
    const Reply& type = *reply++;
    const bool is_read = each->bytes <= kSmallBytes && reply->kind == Reply::kString;
    FilterSize size;
    if (is_read) size = MeasureRead(*each, reply->text);
    if (!is_read) {
      std::string_view other_type = each->is_cuckoo ? "rediscuckoo" : "redisbloom";
      if (each->is_valkeys) other_type = "valkeybloom";
      size = {.type = TypeIn(type).value_or(std::string(other_type)),
              .after = each->bytes + commands::NameHeapBytes(each->name.size()),
              .is_estimate = true};
    }
    if (usage.kind == Reply::kInteger) size.before = static_cast<uint64_t>(usage.integer);
    reply += each->bytes <= kSmallBytes ? 1 : 0;
    sizes.push_back(std::move(size));
  }
  return sizes;
}

// Reads what DUMP or BF.DUMP returned, as the new server will.
FilterSize ServerSource::MeasureRead(const FoundFilter& filter, std::string_view bytes) const {
  core::MemoryBudget memory;
  const core::Clock& clock = core::SystemClock();
  if (!has_dump_) {
    const auto restored = core::RestoreFilter(bytes, memory, clock);
    return restored ? SizeOf(**restored, filter.name) : FilterSize{.problem = restored.error().message};
  }
  const auto module = rdb::OpenDumpPayload(bytes);
  if (!module) return {.problem = module.error().message};
  const auto value = rdb::ReadFilter(*module, memory, clock);
  return value ? SizeOf(*value->filter, filter.name) : FilterSize{.problem = value.error().message};
}

// A payload that is not there is asked for again by Open, which says why.
core::Outcome<void> ServerSource::Prepare(std::span<const FoundFilter* const> filters, bool replace) {
  prepared_.clear();
  PipelinedCommands dumps(client_);
  std::vector<const FoundFilter*> small;
  for (const FoundFilter* each : filters) {
    if (each->bytes > kSmallBytes) continue;
    small.push_back(each);
    dumps.Add({has_dump_ ? "DUMP" : "BF.DUMP", each->name});
  }
  auto replies = dumps.Ask();
  if (!replies) return tl::unexpected("the old server: " + replies.error());
  for (size_t i = 0; i < small.size(); ++i) {
    Reply& dump = replies->at(i);
    if (dump.kind != Reply::kString) continue;
    TargetCommand command{.command = "BF.RESTORE", .arguments = {std::move(dump.text)}};
    if (has_dump_) {
      command = {.command = "RESTORE",
                 .arguments = {std::to_string(small[i]->expires_ms), std::move(command.arguments[0]), "ABSTTL"}};
    }
    const bool takes_name = has_dump_ || small[i]->expires_ms == 0;
    if (replace && takes_name) command.arguments.emplace_back("REPLACE");
    prepared_.emplace(small[i]->name, std::move(command));
  }
  return {};
}

core::Outcome<std::unique_ptr<FilterCommands>> ServerSource::Open(const FoundFilter& filter) {
  if (auto node = prepared_.extract(filter.name)) {
    return std::make_unique<WholeFilter>(std::move(node.mapped()), has_dump_ || filter.expires_ms == 0);
  }
  if (filter.is_valkeys && has_dump_) return OpenDump(filter);
  return std::make_unique<ScannedChunks>(client_, filter);
}

core::Outcome<std::unique_ptr<FilterCommands>> ServerSource::OpenDump(const FoundFilter& filter) {
  const auto reply = client_.Ask({"DUMP", filter.name});
  if (!reply) return tl::unexpected(reply.error());
  if (reply->kind != Reply::kString) return tl::unexpected("the old server: DUMP: " + reply->text);
  const auto value = rdb::OpenDumpPayload(reply->text);
  if (!value) return tl::unexpected(value.error().message);
  auto read = rdb::ReadFilter(*value, memory_, clock_);
  if (!read) return tl::unexpected(read.error().message);
  return std::make_unique<DumpCommands>(std::move(*read));
}

core::Outcome<std::optional<FilterShape>> ServerSource::ShapeOf(const FoundFilter& filter) {
  if (filter.is_cuckoo || filter.is_valkeys) return std::nullopt;
  const auto reply = client_.Ask({"BF.SCANDUMP", filter.name, "0"});
  if (!reply) return tl::unexpected(reply.error());
  if (reply->is_error()) return tl::unexpected("the old server: " + reply->text);
  if (reply->elements.size() != 2)
    return tl::unexpected<std::string>("the old server's reply is not a chunk of a dump");
  const std::string& chunk = reply->elements[1].text;
  if (core::IsFilterDump(chunk)) return std::nullopt;
  const auto header = core::DecodeRedisBloomHeader(chunk, core::ItemCounts::kDrifted);
  if (!header) return tl::unexpected(header.error().message);
  return FilterShape{.error_rate = header->params.error_rate, .capacity = header->Summary().capacity};
}

}  // namespace bitsieve::cli
