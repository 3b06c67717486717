#include "server/commands/info_report.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <limits>

#include "server/commands/resident_memory.h"
#include "server/commands/server_identity.h"
#include "server/dispatch/pub_sub.h"

namespace bitsieve::server {
namespace {

using Environment = Dispatcher::Environment;

class Lines {
 public:
  void Header(std::string_view title) {
    if (!text_.empty()) text_ += "\r\n";
    text_.append("# ").append(title).append("\r\n");
  }
  void Add(std::string_view name, std::string_view value) {
    text_.append(name).append(":").append(value).append("\r\n");
  }
  void Add(std::string_view name, uint64_t value) { Add(name, std::string_view(std::to_string(value))); }
  void AddSigned(std::string_view name, int64_t value) { Add(name, std::string_view(std::to_string(value))); }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// "1.50M", as Redis shows sizes to people.
std::string HumanBytes(uint64_t bytes) {
  constexpr char kUnits[] = "BKMGTPE";
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < sizeof kUnits - 1) {
    size /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f%c" : "%.2f%c", size, kUnits[unit]);
  return text;
}

std::string Seconds(const timeval& time) {
  char text[32];
  std::snprintf(text, sizeof text, "%" PRId64 ".%06" PRId64, int64_t{time.tv_sec}, int64_t{time.tv_usec});
  return text;
}

void Server(const Environment& environment, Lines& lines) {
  const int64_t uptime_s =
      std::max<int64_t>(0, environment.clock->WallMs() - environment.stats->started_unix_ms) / 1000;
  utsname system{};
  uname(&system);
  lines.Add("redis_version", kRedisVersion);
  lines.Add("server_name", kServerName);
  lines.Add("bitsieve_version", kServerVersion);
  lines.Add("redis_mode", "standalone");
  lines.Add("os", std::string(system.sysname) + " " + system.release + " " + system.machine);
  lines.Add("arch_bits", "64");
  lines.AddSigned("process_id", getpid());
  lines.Add("tcp_port", environment.stats->port);
  lines.Add("io_threads", environment.stats->loops.size());
  lines.AddSigned("uptime_in_seconds", uptime_s);
  lines.AddSigned("uptime_in_days", uptime_s / (24 * 60 * 60));
}

void Clients(const Environment& environment, Lines& lines) {
  lines.Add("connected_clients", environment.clients->Size());
  lines.Add("blocked_clients", "0");
  for (const auto& [name, value] : environment.control->GetOptions("maxclients")) lines.Add(name, value);
}

void Memory(const Environment& environment, Lines& lines) {
  const core::MemoryBudget& budget = environment.keyspace->memory();
  const uint64_t resident_bytes = ResidentBytes();
  lines.Add("used_memory", budget.used_bytes());
  lines.Add("used_memory_human", HumanBytes(budget.used_bytes()));
  const ClientList& clients = *environment.clients;
  lines.Add("mem_clients_normal", clients.memory_bytes());
  lines.Add("maxmemory_clients", clients.memory_limit() == ClientList::kNoLimit ? 0 : clients.memory_limit());
  lines.Add("used_memory_rss", resident_bytes);
  lines.Add("used_memory_rss_human", HumanBytes(resident_bytes));
  lines.Add("maxmemory", budget.limit_bytes());
  lines.Add("maxmemory_human", HumanBytes(budget.limit_bytes()));
  lines.Add("maxmemory_policy", "noeviction");
}

// As Redis tells of its append-only file, which is rewritten where ours begins anew with each snapshot.
void Log(const LogStatus& status, Lines& lines) {
  lines.Add("aof_enabled", status.enabled ? "1" : "0");
  lines.Add("aof_rewrite_in_progress", "0");
  lines.Add("aof_last_write_status", status.in_trouble ? "err" : "ok");
  if (status.in_trouble) lines.Add("log_trouble", status.trouble);
  if (!status.enabled) return;
  lines.Add("aof_current_size", status.segments_bytes);
  lines.Add("aof_buffer_length", status.waiting_bytes);
  lines.AddSigned("aof_oldest_unwritten_ms", status.oldest_unwritten_ms);
  lines.Add("aof_pending_bytes", status.position - std::min(status.position, status.durable_position));
  lines.Add("log_position", status.position);
  lines.Add("log_durable_position", status.durable_position);
}

void Persistence(const Environment& environment, Lines& lines) {
  const SnapshotStatus status = environment.control->Snapshot();
  const int64_t duration_s = status.last_duration_ms < 0 ? -1 : status.last_duration_ms / 1000;
  const int64_t loading_since_unix_s = environment.stats->loading_since_unix_s.load(std::memory_order_relaxed);
  lines.Add("loading", loading_since_unix_s != 0 ? "1" : "0");
  lines.Add("async_loading", "0");
  if (loading_since_unix_s != 0) lines.AddSigned("loading_start_time", loading_since_unix_s);
  lines.Add("rdb_changes_since_last_save", status.changes_since_last_save);
  lines.Add("rdb_bgsave_in_progress", status.in_progress ? "1" : "0");
  lines.AddSigned("rdb_last_save_time", status.last_save_unix_s);
  lines.Add("rdb_last_bgsave_status", status.last_ok ? "ok" : "err");
  lines.AddSigned("rdb_last_bgsave_time_sec", duration_s);
  lines.AddSigned("snapshot_last_duration_ms", status.last_duration_ms);
  Log(environment.control->Log(), lines);
}

void Stats(const Environment& environment, Lines& lines) {
  const ServerStats& stats = *environment.stats;
  lines.Add("total_connections_received", stats.Sum(&LoopStats::connections_accepted));
  lines.Add("rejected_connections", stats.Sum(&LoopStats::connections_rejected));
  lines.Add("total_commands_processed", stats.Sum(&LoopStats::commands));
  lines.Add("total_net_input_bytes", stats.Sum(&LoopStats::input_bytes));
  lines.Add("total_net_output_bytes", stats.Sum(&LoopStats::output_bytes));
  lines.Add("total_error_replies", stats.Sum(&LoopStats::error_replies));
  lines.Add("protocol_errors", stats.Sum(&LoopStats::protocol_errors));
  // Of items, not of names: what a filter server is asked is its items.
  lines.Add("keyspace_hits", stats.Sum(&LoopStats::lookup_hits));
  lines.Add("keyspace_misses", stats.Sum(&LoopStats::lookup_misses));
  lines.Add("items_added", stats.Sum(&LoopStats::items_added));
  lines.Add("expired_keys", environment.keyspace->Expiries().expired - stats.expired_before_reset);
  lines.Add("evicted_keys", "0");
  const PubSub* const pub_sub = environment.pub_sub;
  lines.Add("pubsub_channels", pub_sub == nullptr ? 0 : pub_sub->channel_count());
  lines.Add("pubsub_patterns", pub_sub == nullptr ? 0 : pub_sub->pattern_count());
  lines.Add("pubsubshard_channels", pub_sub == nullptr ? 0 : pub_sub->channel_count(PubSub::Space::kSharded));
  lines.Add("evicted_clients", environment.clients->evicted());
}

void Replication(const Environment&, Lines& lines) {
  lines.Add("role", "master");
  lines.Add("connected_slaves", "0");
}

void Cpu(const Environment&, Lines& lines) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  lines.Add("used_cpu_sys", Seconds(usage.ru_stime));
  lines.Add("used_cpu_user", Seconds(usage.ru_utime));
}

void Modules(const Environment&, Lines& lines) {
  lines.Add("module", "name=" + std::string(kModuleName) + ",ver=" + std::to_string(kModuleVersion) +
                          ",api=1,filters=0,usedby=[],using=[],options=[]");
}

void Cluster(const Environment&, Lines& lines) { lines.Add("cluster_enabled", "0"); }

void Names(const Environment& environment, Lines& lines) {
  const uint64_t names = environment.keyspace->Size();
  if (names == 0) return;
  const ExpiryStats expiries = environment.keyspace->Expiries();
  lines.Add("db0", "keys=" + std::to_string(names) + ",expires=" + std::to_string(expiries.names) +
                       ",avg_ttl=" + std::to_string(expiries.average_ms_left));
}

// All filters together, under the names that valkey-bloom gave these figures and that exporters know.
void AllFilters(const Environment& environment, Lines& lines) {
  std::vector<FilterPtr> filters;
  uint64_t cursor = 0;
  do {
    cursor = environment.keyspace->Scan(cursor, std::numeric_limits<uint64_t>::max(),
                                        [&](std::string_view, const FilterPtr& filter) { filters.push_back(filter); });
  } while (cursor != 0);

  uint64_t bytes = 0, links = 0, items = 0, capacity = 0;
  for (const FilterPtr& filter : filters) {
    const core::FilterInfo info = filter->Info();
    bytes += info.size_bytes;
    links += info.links;
    items += info.items;
    capacity += info.capacity;
  }
  lines.Add("bf_bloom_total_memory_bytes", bytes);
  lines.Add("bf_bloom_num_objects", filters.size());
  lines.Add("bf_bloom_num_filters_across_objects", links);
  lines.Add("bf_bloom_num_items_across_objects", items);
  lines.Add("bf_bloom_capacity_across_objects", capacity);
}

enum class Shown { kByDefault, kWithModules };

struct Section {
  std::string_view title;
  Shown shown;
  void (*write)(const Environment& environment, Lines& lines);
};

constexpr Section kSections[] = {
    {"Server", Shown::kByDefault, Server},   {"Clients", Shown::kByDefault, Clients},
    {"Memory", Shown::kByDefault, Memory},   {"Persistence", Shown::kByDefault, Persistence},
    {"Stats", Shown::kByDefault, Stats},     {"Replication", Shown::kByDefault, Replication},
    {"CPU", Shown::kByDefault, Cpu},         {"Modules", Shown::kByDefault, Modules},
    {"Cluster", Shown::kByDefault, Cluster}, {"Keyspace", Shown::kByDefault, Names},
    {"bf", Shown::kWithModules, AllFilters},
};

bool Wants(std::string_view asked, const Section& section) {
  if (EqualsIgnoringCase(asked, section.title) || EqualsIgnoringCase(asked, "everything")) return true;
  if (EqualsIgnoringCase(asked, "modules")) return section.shown == Shown::kWithModules;
  const bool usual = EqualsIgnoringCase(asked, "default") || EqualsIgnoringCase(asked, "all");
  return usual && section.shown == Shown::kByDefault;
}

}  // namespace

bool VisitsAllFilters(Arguments sections) {
  return std::ranges::any_of(kSections, [&](const Section& section) {
    return section.write == AllFilters &&
           std::ranges::any_of(sections, [&](std::string_view asked) { return Wants(asked, section); });
  });
}

std::string InfoReport(const Environment& environment, Arguments sections) {
  Lines lines;
  for (const Section& section : kSections) {
    const bool wanted =
        sections.empty() ? section.shown == Shown::kByDefault
                         : std::ranges::any_of(sections, [&](std::string_view asked) { return Wants(asked, section); });
    if (!wanted) continue;
    lines.Header(section.title);
    section.write(environment, lines);
  }
  return lines.Take();
}

}  // namespace bitsieve::server
