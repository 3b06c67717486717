#include "cli/migrate/server_source.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/base/clock.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_type.h"

namespace bitsieve::cli {
namespace {

constexpr std::string_view kNamesOfAScan = "512";
constexpr uint64_t kSmallBytes = 64 << 10;

// Commands that are sent together, and their replies.
class PipelinedCommands {
 public:
  explicit PipelinedCommands(ServerClient& client) : client_(client) {}

  void Add(std::initializer_list<std::string_view> words) {
    AppendCommand(bytes_, words);
    ++count_;
  }
  core::Outcome<std::vector<Reply>> Ask() {
    if (auto sent = client_.Send(bytes_); !sent) return tl::unexpected(sent.error());
    std::vector<Reply> replies;
    for (size_t i = 0; i < count_; ++i) {
      auto reply = client_.Receive();
      if (!reply) return tl::unexpected(reply.error());
      replies.push_back(std::move(*reply));
    }
    return replies;
  }

 private:
  ServerClient& client_;
  std::string bytes_;
  size_t count_ = 0;
};

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
  OtherKeys others;
  std::unordered_set<std::string> seen;  // SCAN may give a name twice
  std::string cursor = "0";
  do {
    auto page = client_.Ask({"SCAN", cursor, "MATCH", pattern, "COUNT", kNamesOfAScan});
    if (!page) return tl::unexpected(page.error());
    if (page->is_error() || page->elements.size() != 2) return tl::unexpected("SCAN: " + page->text);
    cursor = page->elements[0].text;
    std::vector<Reply>& names = page->elements[1].elements;
    std::erase_if(names, [&seen](const Reply& name) { return !seen.insert(name.text).second; });
    if (auto found = FindAmong(names, visit, others); !found) return tl::unexpected(found.error());
  } while (cursor != "0");
  return others;
}

core::Outcome<void> ServerSource::FindAmong(const std::vector<Reply>& names, const Visit& visit, OtherKeys& others) {
  PipelinedCommands types(client_);
  for (const Reply& name : names) types.Add({"TYPE", name.text});
  const auto type_of = types.Ask();
  if (!type_of) return tl::unexpected(type_of.error());
  std::vector<FoundFilter> filters;
  PipelinedCommands details(client_);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& type = type_of->at(i).text;
    const bool is_cuckoo = type == core::kCuckooValueName;
    if (!is_cuckoo && type != core::kBloomValueName) {
      if (type != "none") ++others.counts[type];
      continue;
    }
    filters.push_back({.name = names[i].text, .is_cuckoo = is_cuckoo});
    details.Add({is_cuckoo ? "CF.INFO" : "BF.INFO", names[i].text});
    details.Add({"PTTL", names[i].text});
    details.Add({"PEXPIRETIME", names[i].text});  // which Redis below 7.0 does not know
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
  return std::make_unique<ScannedChunks>(client_, filter);
}

core::Outcome<std::optional<FilterShape>> ServerSource::ShapeOf(const FoundFilter& filter) {
  if (filter.is_cuckoo) return std::nullopt;
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
