#include "server/metrics/metric_table.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "commands/followed_filters.h"
#include "core/base/parse.h"
#include "server/auth/access_log.h"
#include "server/metrics/command_reports.h"
#include "server/metrics/server_identity.h"
#include "server/pubsub/keyspace_events.h"
#include "server/pubsub/pub_sub.h"
#include "server/session/client_list.h"
#include "server/stats/stats.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using enum MetricType;
using enum MetricUnit;
using Readings = MetricReadings;
using Value = MetricValue;

Value Text(std::string_view text) { return std::string(text); }
Value Number(uint64_t number) { return number; }
Value Signed(int64_t number) { return number; }
Value YesOrNo(bool yes) { return Number(yes ? 1 : 0); }

// "1.50M", as Redis shows sizes to people.
Value HumanBytes(uint64_t bytes) {
  constexpr char kUnits[] = "BKMGTPE";
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < sizeof kUnits - 1) {
    size /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f%c" : "%.2f%c", size, kUnits[unit]);
  return Text(text);
}

Value SystemName(Readings&) {
  utsname system{};
  uname(&system);
  return std::string(system.sysname) + " " + system.release + " " + system.machine;
}

constexpr MetricRow kServer[] = {
    {"redis_version", kInfo, kNone, "the version of Redis whose commands and replies are implemented",
     [](Readings&) { return Text(kRedisVersion); }},
    {"server_name", kInfo, kNone, "the name of the server software", [](Readings&) { return Text(kServerName); }},
    {"bitsieve_version", kInfo, kNone, "the version of this server", [](Readings&) { return Text(kServerVersion); }},
    {"redis_mode", kInfo, kNone, "always standalone", [](Readings&) { return Text("standalone"); }},
    {"os", kInfo, kNone, "the operating system, its version and the machine's architecture", SystemName},
    {"arch_bits", kInfo, kNone, "the size of a pointer in bits", [](Readings&) { return Text("64"); }},
    {"run_id", kInfo, kNone, "a random ID, different at each start",
     [](Readings& readings) { return Text(readings.server().stats->run_id); }},
    {"process_id", kInfo, kNone, "the process ID", [](Readings&) { return Signed(getpid()); }},
    {"tcp_port", kInfo, kNone, "the TCP port that the server listens on",
     [](Readings& readings) { return Number(readings.server().stats->port); }},
    {"io_threads", kGauge, kNone, "number of event loops, each with its own thread",
     [](Readings& readings) { return Number(readings.server().stats->loops.size()); }},
    {"uptime_in_seconds", kGauge, kSeconds, "time since the start",
     [](Readings& readings) { return Signed(readings.uptime_s()); }, "bitsieve_uptime_seconds"},
    {"uptime_in_days", kInfo, kNone, "uptime_in_seconds in whole days",
     [](Readings& readings) { return Signed(readings.uptime_s() / (24 * 60 * 60)); }},
};

Value MaxClients(Readings& readings) {
  const auto found = readings.server().control->GetOptions("maxclients");
  const auto limit = found.empty() ? std::nullopt : core::ParseUnsigned(found.front().second);
  return limit ? Number(*limit) : Value();
}

constexpr MetricRow kClients[] = {
    {"connected_clients", kGauge, kNone, "number of connections",
     [](Readings& readings) { return Number(readings.server().clients->Size()); }},
    {"blocked_clients", kGauge, kNone, "always 0: no command blocks", [](Readings&) { return Number(0); },
     kNotExported},
    {"maxclients", kGauge, kNone, "the option maxclients: the maximum number of connections", MaxClients},
};

Value ClientMemoryLimit(Readings& readings) {
  const uint64_t limit = readings.server().clients->memory_limit();
  return Number(limit == ClientList::kNoLimit ? 0 : limit);
}

Value Percent(uint64_t part, uint64_t whole) {
  char text[32];
  const double percent = whole == 0 ? 100 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  std::snprintf(text, sizeof text, "%.2f%%", percent);
  return Text(text);
}

uint64_t PeakBytes(Readings& readings) {
  return std::max(readings.server().keyspace->memory().peak_bytes(), readings.used_bytes());
}

uint64_t DatasetBytes(Readings& readings) { return readings.used_bytes() - readings.name_bytes(); }

uint64_t SystemMemory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

Value Fragmentation(Readings& readings) {
  const auto used = static_cast<double>(std::max<uint64_t>(readings.used_bytes(), 1));
  return static_cast<double>(readings.resident_bytes()) / used;
}

constexpr MetricRow kMemory[] = {
    {"used_memory", kGauge, kBytes, "memory of the filters, which maxmemory limits",
     [](Readings& readings) { return Number(readings.used_bytes()); }},
    {"used_memory_human", kInfo, kNone, "used_memory in readable form",
     [](Readings& readings) { return HumanBytes(readings.used_bytes()); }},
    {"used_memory_peak", kGauge, kBytes, "the highest value of used_memory so far",
     [](Readings& readings) { return Number(PeakBytes(readings)); }},
    {"used_memory_peak_human", kInfo, kNone, "used_memory_peak in readable form",
     [](Readings& readings) { return HumanBytes(PeakBytes(readings)); }},
    {"used_memory_peak_perc", kInfo, kNone, "used_memory as a percentage of used_memory_peak",
     [](Readings& readings) { return Percent(readings.used_bytes(), PeakBytes(readings)); }},
    {"used_memory_overhead", kGauge, kBytes, "the part of used_memory that names take in addition to their bytes",
     [](Readings& readings) { return Number(readings.name_bytes()); }},
    {"used_memory_dataset", kGauge, kBytes, "the part of used_memory that filters and the bytes of their names take",
     [](Readings& readings) { return Number(DatasetBytes(readings)); }},
    {"used_memory_dataset_perc", kInfo, kNone, "used_memory_dataset as a percentage of used_memory",
     [](Readings& readings) { return Percent(DatasetBytes(readings), readings.used_bytes()); }},
    {"total_system_memory", kGauge, kBytes, "memory of the machine", [](Readings&) { return Number(SystemMemory()); }},
    {"total_system_memory_human", kInfo, kNone, "total_system_memory in readable form",
     [](Readings&) { return HumanBytes(SystemMemory()); }},
    {"mem_clients_normal", kGauge, kBytes, "memory of the connections: requests, replies, messages, watched names",
     [](Readings& readings) { return Number(readings.server().clients->memory_bytes()); }},
    {"maxmemory_clients", kGauge, kBytes, "the maximum memory of all connections together; 0: no limit",
     ClientMemoryLimit},
    {"mem_changes", kGauge, kBytes, "memory of the latest changes of filters that are followed",
     [](Readings& readings) { return Number(readings.server().filters.followed->used_bytes()); }},
    {"used_memory_rss", kGauge, kBytes, "resident memory of the process",
     [](Readings& readings) { return Number(readings.resident_bytes()); }},
    {"used_memory_rss_human", kInfo, kNone, "used_memory_rss in readable form",
     [](Readings& readings) { return HumanBytes(readings.resident_bytes()); }},
    {"mem_fragmentation_ratio", kGauge, kNone,
     "used_memory_rss divided by used_memory: high while the filters are small compared with the process",
     Fragmentation},
    {"mem_allocator", kInfo, kNone, "the allocator, that of the system's C library",
     [](Readings&) { return Text("libc"); }},
    {"maxmemory", kGauge, kBytes, "the maximum memory of all filters together; 0: no limit",
     [](Readings& readings) { return Number(readings.server().keyspace->memory().limit_bytes()); }},
    {"maxmemory_human", kInfo, kNone, "maxmemory in readable form",
     [](Readings& readings) { return HumanBytes(readings.server().keyspace->memory().limit_bytes()); }},
    {"maxmemory_policy", kInfo, kNone, "always noeviction: commands that need more memory are refused",
     [](Readings&) { return Text("noeviction"); }},
};

Value LoadingSince(Readings& readings) {
  const int64_t since_unix_s = readings.loading_since_unix_s();
  return since_unix_s == 0 ? Value() : Signed(since_unix_s);
}

Value LastSaveSeconds(Readings& readings) {
  const int64_t duration_ms = readings.snapshot().last_duration_ms;
  return Signed(duration_ms < 0 ? -1 : duration_ms / 1000);
}

Value Trouble(Readings& readings) { return readings.log().in_trouble ? Text(readings.log().trouble) : Value(); }

// A value of the log, if there is one.
template <auto kMember>
Value OfLog(Readings& readings) {
  return readings.log().enabled ? Value(readings.log().*kMember) : Value();
}

Value PendingBytes(Readings& readings) {
  const LogStatus& log = readings.log();
  return log.enabled ? Number(log.position - std::min(log.position, log.durable_position)) : Value();
}

// The log has the names of Redis' append-only file, which is rewritten where this one begins anew with each snapshot.
constexpr MetricRow kPersistence[] = {
    {"loading", kGauge, kNone, "1 while filters are loaded at the start",
     [](Readings& readings) { return YesOrNo(readings.loading_since_unix_s() != 0); }},
    {"async_loading", kGauge, kNone, "always 0", [](Readings&) { return Number(0); }, kNotExported},
    {"loading_start_time", kGauge, kUnixSeconds, "when loading began; present only while loading", LoadingSince},
    {"rdb_changes_since_last_save", kGauge, kNone, "changes since the last snapshot",
     [](Readings& readings) { return Number(readings.snapshot().changes_since_last_save); }},
    {"rdb_bgsave_in_progress", kGauge, kNone, "1 while a snapshot is being made",
     [](Readings& readings) { return YesOrNo(readings.snapshot().in_progress); }},
    {"rdb_last_save_time", kGauge, kUnixSeconds, "when the last complete snapshot was made; the start counts as one",
     [](Readings& readings) { return Signed(readings.snapshot().last_save_unix_s); }},
    {"rdb_last_bgsave_status", kInfo, kNone, "ok, or err if the last snapshot failed",
     [](Readings& readings) { return Text(readings.snapshot().last_ok ? "ok" : "err"); },
     "bitsieve_rdb_last_bgsave_ok"},
    {"rdb_last_bgsave_time_sec", kInfo, kSeconds, "snapshot_last_duration_ms in whole seconds", LastSaveSeconds},
    {"snapshot_last_duration_ms", kGauge, kMilliseconds, "how long the last snapshot took; -1: none has been made yet",
     [](Readings& readings) { return Signed(readings.snapshot().last_duration_ms); }},
    {"aof_enabled", kGauge, kNone, "1 if there is a log (appendonly)",
     [](Readings& readings) { return YesOrNo(readings.log().enabled); }},
    {"aof_rewrite_in_progress", kGauge, kNone, "always 0: the log is not rewritten",
     [](Readings&) { return Number(0); }, kNotExported},
    {"aof_last_write_status", kInfo, kNone, "ok, or err while the log cannot be written",
     [](Readings& readings) { return Text(readings.log().in_trouble ? "err" : "ok"); }, "bitsieve_aof_last_write_ok"},
    {"log_trouble", kInfo, kNone, "why the log cannot be written; present only while it cannot", Trouble},
    {"aof_current_size", kGauge, kBytes, "size of the log's files", OfLog<&LogStatus::segments_bytes>},
    {"aof_buffer_length", kGauge, kBytes, "bytes of the log that are still in memory, which a kill would lose",
     OfLog<&LogStatus::waiting_bytes>},
    {"aof_oldest_unwritten_ms", kGauge, kMilliseconds, "age of the oldest change that is still in memory",
     OfLog<&LogStatus::oldest_unwritten_ms>},
    {"aof_pending_bytes", kGauge, kBytes, "bytes of the log that are not synced yet, which a power cut would lose",
     PendingBytes},
    {"log_position", kGauge, kBytes,
     "where the last change ends in the log, counted from the beginning of the first log", OfLog<&LogStatus::position>},
    {"log_durable_position", kGauge, kBytes, "changes before this position survive a power cut",
     OfLog<&LogStatus::durable_position>},
};

Value ExpiredNames(Readings& readings) {
  return Number(readings.server().keyspace->Expiries().expired - readings.server().stats->expired_before_reset);
}

Value CountOfChannels(Readings& readings) {
  const PubSub* const pub_sub = readings.server().pub_sub;
  return Number(pub_sub == nullptr ? 0 : pub_sub->channel_count());
}

Value CountOfPatterns(Readings& readings) {
  const PubSub* const pub_sub = readings.server().pub_sub;
  return Number(pub_sub == nullptr ? 0 : pub_sub->pattern_count());
}

Value DroppedEvents(Readings& readings) {
  const KeyspaceEvents* const events = readings.server().events;
  return Number(events == nullptr ? 0 : events->dropped());
}

template <AccessRefusal::Reason kReason>
Value Refused(Readings& readings) {
  const AccessLog* const log = readings.server().access_log;
  return Number(log == nullptr ? 0 : log->refused(kReason));
}
// Bytes per second in kilobytes, as Redis has them.
Value Kilobytes(uint64_t bytes) { return static_cast<double>(bytes) / 1024; }

constexpr MetricRow kStats[] = {
    {"total_connections_received", kCounter, kNone, "connections accepted", &LoopStats::connections_accepted},
    {"total_tls_connections_received", kCounter, kNone, "connections accepted on the TLS port",
     &LoopStats::tls_connections_accepted},
    {"tls_handshakes_failed", kCounter, kNone,
     "connections of the TLS port that were closed during the handshake: not TLS, no valid certificate, or too slow",
     &LoopStats::tls_handshakes_failed},
    {"rejected_connections", kCounter, kNone, "connections refused because of maxclients or protected-mode",
     &LoopStats::connections_rejected},
    {"total_commands_processed", kCounter, kNone, "commands executed", &LoopStats::commands},
    {"instantaneous_ops_per_sec", kGauge, kNone, "commands per second, over the last 1.5 seconds",
     [](Readings& readings) { return Number(readings.rates().commands); }, kNotExported},
    {"instantaneous_input_kbps", kGauge, kNone, "kilobytes received per second, over the last 1.5 seconds",
     [](Readings& readings) { return Kilobytes(readings.rates().input_bytes); }, kNotExported},
    {"instantaneous_output_kbps", kGauge, kNone, "kilobytes sent per second, over the last 1.5 seconds",
     [](Readings& readings) { return Kilobytes(readings.rates().output_bytes); }, kNotExported},
    {"total_net_input_bytes", kCounter, kBytes, "bytes received from clients", &LoopStats::input_bytes},
    {"total_net_output_bytes", kCounter, kBytes, "bytes sent to clients", &LoopStats::output_bytes},
    {"total_error_replies", kCounter, kNone, "error replies", &LoopStats::error_replies},
    {"protocol_errors", kCounter, kNone, "connections closed because they sent invalid protocol",
     &LoopStats::protocol_errors},
    {"keyspace_hits", kCounter, kNone, "items looked up (not filter names) that were probably present",
     &LoopStats::lookup_hits},
    {"keyspace_misses", kCounter, kNone, "items looked up that were definitely not present", &LoopStats::lookup_misses},
    {"items_added", kCounter, kNone, "added items that were new", &LoopStats::items_added},
    {"expired_keys", kCounter, kNone, "filters removed because they expired", ExpiredNames},
    {"evicted_keys", kCounter, kNone, "always 0: filters are not evicted", [](Readings&) { return Number(0); },
     kNotExported},
    {"pubsub_channels", kGauge, kNone, "channels that have subscribers", CountOfChannels},
    {"pubsub_patterns", kGauge, kNone, "patterns that have subscribers", CountOfPatterns},
    {"keyspace_events_dropped", kCounter, kNone, "keyspace events lost because too many were waiting to be published",
     DroppedEvents},
    {"acl_access_denied_auth", kCounter, kNone, "failed authentications", Refused<AccessRefusal::Reason::kPassword>},
    {"acl_access_denied_cmd", kCounter, kNone, "commands refused because the user may not run them",
     Refused<AccessRefusal::Reason::kCommand>},
    {"acl_access_denied_key", kCounter, kNone, "commands refused because the user may not access a key",
     Refused<AccessRefusal::Reason::kKey>},
    {"acl_access_denied_channel", kCounter, kNone, "commands refused because the user may not access a channel",
     Refused<AccessRefusal::Reason::kChannel>},
    {"evicted_clients", kCounter, kNone, "connections closed because of maxmemory-clients",
     [](Readings& readings) { return Number(readings.server().clients->evicted()); }},
};

constexpr MetricRow kReplication[] = {
    {"role", kInfo, kNone, "always master", [](Readings&) { return Text("master"); }},
    {"connected_slaves", kGauge, kNone, "always 0", [](Readings&) { return Number(0); }, kNotExported},
    {"master_replid", kInfo, kNone, "a random ID, different at each start; there is no replication",
     [](Readings& readings) { return Text(readings.server().stats->replication_id); }},
    {"master_repl_offset", kGauge, kNone, "always 0", [](Readings&) { return Number(0); }, kNotExported},
};

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

constexpr MetricRow kCpu[] = {
    {"used_cpu_sys", kCounter, kSeconds, "CPU time that the process spent in the kernel",
     [](Readings& readings) { return Value(Seconds(readings.usage().ru_stime)); }},
    {"used_cpu_user", kCounter, kSeconds, "CPU time that the process spent outside the kernel",
     [](Readings& readings) { return Value(Seconds(readings.usage().ru_utime)); }},
};

Value Module(Readings&) {
  return "name=" + std::string(kModuleName) + ",ver=" + std::to_string(kModuleVersion) +
         ",api=1,filters=0,usedby=[],using=[],options=[]";
}

constexpr MetricRow kModules[] = {
    {"module", kInfo, kNone, "the version of RedisBloom whose commands and replies are implemented", Module},
};

constexpr MetricRow kCommands[] = {
    {"cmdstat_", kCounter, kNone,
     "one field per command that was sent: how often it ran, how many microseconds it took (quick commands of a "
     "pipeline count equal shares), how often it was refused before it ran, and how often it failed",
     EachCommand},
};

constexpr MetricRow kErrors[] = {
    {"errorstat_", kCounter, kNone, "one field per error code, the first word of an error: the number of such errors",
     EachErrorCode},
};

constexpr MetricRow kLatencies[] = {
    {"latency_percentiles_usec_", kGauge, kNone,
     "one field per command that ran: the microseconds that half, 99% and 99.9% of its calls did not exceed, "
     "interpolated between powers of two",
     EachLatency},
};

constexpr MetricRow kCluster[] = {
    {"cluster_enabled", kGauge, kNone, "always 0", [](Readings&) { return Number(0); }, kNotExported},
};

Value Names(Readings& readings) {
  const uint64_t names = readings.server().keyspace->Size();
  if (names == 0) return {};
  const ExpiryStats expiries = readings.server().keyspace->Expiries();
  return "keys=" + std::to_string(names) + ",expires=" + std::to_string(expiries.names) +
         ",avg_ttl=" + std::to_string(expiries.average_ms_left);
}

constexpr MetricRow kKeyspace[] = {
    {"db0", kInfo, kNone,
     "number of filters, number of filters with an expiry, and the average number of milliseconds until they expire; "
     "present only if there are filters",
     Names},
};

void EachQuota(Readings& readings, const MetricRow::Field& field) {
  size_t number = 0;
  for (const QuotaUse& quota : readings.server().keyspace->QuotasInUse()) {
    field(std::to_string(number++),
          "filters=" + std::to_string(quota.filters) + ",max_filters=" + std::to_string(quota.most_filters) +
              ",bytes=" + std::to_string(quota.bytes) + ",max_bytes=" + std::to_string(quota.most_bytes) +
              ",refused=" + std::to_string(quota.refusals) + ",pattern=" + quota.pattern);
  }
}

constexpr MetricRow kQuotas[] = {
    {"quota", kGauge, kNone,
     "one field per row of the option quota: filters and bytes in use, the maximum of both (0: no limit), how often "
     "more was refused, and the pattern of the names",
     EachQuota},
};

template <auto kMember>
Value Total(Readings& readings) {
  return readings.totals().*kMember;
}

// Under the names from valkey-bloom, which exporters expect.
constexpr MetricRow kAllFilters[] = {
    {"bf_bloom_total_memory_bytes", kGauge, kBytes, "memory of all filters", Total<&FilterTotals::size_bytes>,
     "bitsieve_filters_memory_bytes"},
    {"bf_bloom_num_objects", kGauge, kNone, "number of filters", Total<&FilterTotals::filters>, "bitsieve_filters"},
    {"bf_bloom_num_filters_across_objects", kGauge, kNone, "number of sub-filters of all filters",
     Total<&FilterTotals::sub_filters>, "bitsieve_filters_sub_filters"},
    {"bf_bloom_num_items_across_objects", kGauge, kNone, "number of items in all filters", Total<&FilterTotals::items>,
     "bitsieve_filters_items"},
    {"bf_bloom_capacity_across_objects", kGauge, kNone, "capacity of all filters together",
     Total<&FilterTotals::capacity>, "bitsieve_filters_capacity_items"},
};

constexpr MetricSection kSections[] = {
    {"Server", kServer},
    {"Clients", kClients},
    {"Memory", kMemory},
    {"Persistence", kPersistence},
    {"Stats", kStats},
    {"Replication", kReplication},
    {"CPU", kCpu},
    {"Modules", kModules},
    {"Commandstats", kCommands, false, false},
    {"Errorstats", kErrors},
    {"Latencystats", kLatencies, false, false},
    {"Cluster", kCluster},
    {"Keyspace", kKeyspace},
    {"Quotas", kQuotas},
    {"bf", kAllFilters, true},
};

}  // namespace

std::span<const MetricSection> MetricSections() { return kSections; }

MetricValue ReadMetric(const MetricRow& row, MetricReadings& readings) {
  if (const auto* counter = std::get_if<MetricRow::Counter>(&row.source)) {
    return readings.server().stats->Sum(*counter);
  }
  const auto* read = std::get_if<MetricRow::Read>(&row.source);
  return read == nullptr ? MetricValue() : (*read)(readings);
}

std::string PrometheusName(const MetricRow& row) {
  const bool is_many = std::holds_alternative<MetricRow::Each>(row.source);
  if (is_many || row.exported == kNotExported || (row.type == kInfo && row.exported.empty())) return "";
  if (!row.exported.empty()) return std::string(row.exported);
  std::string_view stem = row.name;
  if (stem.starts_with("total_")) stem.remove_prefix(6);
  if (stem.ends_with("_ms")) stem.remove_suffix(3);
  std::string name = "bitsieve_" + std::string(stem);
  const std::string_view unit = row.unit == kNone ? "" : row.unit == kBytes ? "_bytes" : "_seconds";
  if (!name.ends_with(unit)) name += unit;
  if (row.type == kCounter) name += "_total";
  return name;
}

std::optional<double> PrometheusValue(const MetricRow& row, const MetricValue& value) {
  const double scale = row.unit == kMilliseconds ? 1e-3 : 1;
  if (const auto* text = std::get_if<std::string>(&value)) return *text == "ok" ? 1 : 0;
  if (const auto* number = std::get_if<uint64_t>(&value)) return scale * static_cast<double>(*number);
  if (const auto* number = std::get_if<double>(&value)) return scale * *number;
  const auto* number = std::get_if<int64_t>(&value);
  // A time of -1: there was none yet.
  if (number == nullptr || (*number < 0 && row.unit != kNone)) return std::nullopt;
  return scale * static_cast<double>(*number);
}

void ResetCounters(const Environment& server) {
  for (const MetricSection& section : kSections) {
    for (const MetricRow& row : section.rows) {
      const auto* counter = std::get_if<MetricRow::Counter>(&row.source);
      if (counter == nullptr) continue;
      for (LoopStats& loop : server.stats->loops) (loop.**counter).store(0, std::memory_order_relaxed);
    }
  }
  for (LoopStats& loop : server.stats->loops) {
    loop.by_command.Reset();
    loop.error_codes.Reset();
  }
  server.stats->expired_before_reset = server.keyspace->Expiries().expired;
}

}  // namespace bitsieve::server
