#include "config/option_table.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "config/client_memory.h"
#include "config/quotas.h"
#include "config/redis_settings.h"
#include "core/base/edit_distance.h"
#include "core/base/glob.h"
#include "core/base/parse.h"
#include "core/base/quote.h"
#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::config {
namespace {

std::vector<std::string_view> DefaultTypes() {
  std::vector<std::string_view> names;
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    if (type->made.by_default) names.push_back(type->name);
  }
  return names;
}

constexpr uint64_t kKilobyte = 1ULL << 10;
constexpr uint64_t kMegabyte = 1ULL << 20;
constexpr uint64_t kGigabyte = 1ULL << 30;
constexpr uint64_t kYearSeconds = 365ULL * 24 * 60 * 60;

// Whether they are addresses of this machine is for the listener to find out.
bool IsHostList(const std::string& text) { return text.find_first_not_of(" \t,") != std::string::npos; }
bool IsNotEmpty(const std::string& text) { return !text.empty(); }
bool IsAnything(const std::string&) { return true; }

bool IsPermissions(const std::string& text) {
  return text.size() <= 3 && text.find_first_not_of("01234567") == std::string::npos;
}
// Words with blanks between them.
bool AreTlsProtocols(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word != "TLSv1.2" && word != "TLSv1.3") return false;
  }
  return true;
}

using enum AppliedBy;
using Rows = std::vector<OptionRow>;

void AddNetwork(Rows& rows) {
  constexpr std::string_view kGroup = "Network";
  rows.insert(
      rows.end(),
      {{"bind", kGroup, &Options::bind,
        Text{"one or more addresses or host names, separated by blanks or commas", IsHostList}, "",
        "addresses to listen on; 0.0.0.0 and :: mean all addresses of this machine, open to anyone who can reach it",
        kStart},
       {"port", kGroup, &Options::port, WholeNumber{0, 65535, true}, "",
        "TCP port to listen on; 0 takes any free port and writes it to the log; off: clients can connect only through "
        "tls-port or unixsocket",
        kStart},
       {"unixsocket", kGroup, &Options::unixsocket, Text{"a path, or empty for none", IsAnything}, "",
        "Unix socket to listen on as well, removed when the server stops; empty: none", kStart},
       {"unixsocketperm", kGroup, &Options::unixsocketperm, Text{"octal digits from 0 to 777, or empty", IsPermissions},
        "",
        "permissions of the Unix socket, in octal as for chmod; a client needs write permission to connect; empty: the "
        "umask decides",
        kStart},
       {"io-threads", kGroup, &Options::io_threads, WholeNumber{0, 256}, "",
        "number of event loops, each with its own thread; 0: one per core, at most 8", kStart},
       {"maxclients", kGroup, &Options::maxclients, WholeNumber{1, 1'000'000}, "",
        "maximum number of simultaneous connections; further ones are refused", kNetwork},
       {"timeout", kGroup, &Options::timeout, WholeNumber{0, kYearSeconds}, "seconds",
        "close a connection that has been idle for this time; 0: never", kNetwork},
       {"tcp-keepalive", kGroup, &Options::tcp_keepalive, WholeNumber{0, 32767}, "seconds",
        "probe the peer of a connection that has been silent for this time; 0: off; a change applies to new "
        "connections",
        kNetwork},
       {"client-output-buffer-limit", kGroup, &Options::client_output_buffer_limit,
        ByteSize{64 * kKilobyte, 1024 * kGigabyte}, "",
        "close a connection whose unread replies would take more memory than this; from half of it on, no further "
        "commands of the connection are run until it reads",
        kNetwork}});
}

// Names and meaning are those of Redis.
void AddTls(Rows& rows) {
  constexpr std::string_view kGroup = "TLS";
  const Text path{"a path, or empty", IsAnything};
  rows.insert(
      rows.end(),
      {{"tls-port", kGroup, &Options::tls_port, WholeNumber{0, 65535}, "",
        "TCP port for TLS, on the addresses of bind; 0: none", kStart},
       {"tls-cert-file", kGroup, &Options::tls_cert_file, path, "",
        "the server's certificate in PEM format, followed by any intermediate certificates", kTls},
       {"tls-key-file", kGroup, &Options::tls_key_file, path, "", "the certificate's private key in PEM format", kTls},
       {.name = "tls-key-file-pass",
        .group = kGroup,
        .member = &Options::tls_key_file_pass,
        .domain = Text{"a password, or empty", IsAnything},
        .unit = "",
        .help = "the password of the private key, if it is encrypted",
        .applied_by = kTls,
        .secret = true},
       {"tls-ca-cert-file", kGroup, &Options::tls_ca_cert_file, path, "",
        "certificates, in PEM format, of the authorities that sign clients' certificates", kTls},
       {"tls-auth-clients", kGroup, &Options::tls_auth_clients, OneOf{{"yes", "no", "optional"}}, "",
        "whether clients of the TLS port must present a certificate: yes: required; no: ignored; optional: not "
        "required, but it must be valid",
        kTls},
       {"tls-protocols", kGroup, &Options::tls_protocols,
        Text{"TLSv1.2, TLSv1.3 or both, separated by a blank, or empty", AreTlsProtocols}, "",
        "accepted versions of TLS; empty: both", kTls},
       {"tls-ciphers", kGroup, &Options::tls_ciphers, Text{"a list in OpenSSL's format, or empty", IsAnything}, "",
        "ciphers for TLSv1.2; empty: OpenSSL's default", kTls},
       {"tls-ciphersuites", kGroup, &Options::tls_ciphersuites,
        Text{"a list in OpenSSL's format, or empty", IsAnything}, "", "ciphers for TLSv1.3; empty: OpenSSL's default",
        kTls}});
}

void AddMonitoring(Rows& rows) {
  constexpr std::string_view kGroup = "Monitoring";
  rows.insert(rows.end(),
              {{"slowlog-log-slower-than", kGroup, &Options::slowlog_log_slower_than, SignedNumber{-1, 3'600'000'000},
                "microseconds",
                "commands that take at least this long are kept for SLOWLOG; 0: every command; -1: none; below 1000, "
                "quick commands are timed one by one, which is slower",
                kMonitoring},
               {"slowlog-max-len", kGroup, &Options::slowlog_max_len, WholeNumber{0, 10'000}, "",
                "maximum number of entries in SLOWLOG", kMonitoring},
               {"latency-monitor-threshold", kGroup, &Options::latency_monitor_threshold, WholeNumber{0, 3'600'000},
                "milliseconds", "events that take at least this long are recorded for LATENCY; 0: none", kMonitoring}});
}

// Redis's classes that have no meaning here are accepted as well. server/commands defines the meaning of the others.
bool IsEventClasses(const std::string& text) {
  return text.find_first_not_of("KEgxdnA$lshztemoc") == std::string::npos;
}

bool IsPassword(const std::string& text) { return text.size() <= kMaxPasswordBytes; }

void AddAccess(Rows& rows) {
  constexpr std::string_view kGroup = "Access";
  rows.insert(
      rows.end(),
      {{.name = "requirepass",
        .group = kGroup,
        .member = &Options::requirepass,
        .domain = Text{"a password of at most 16384 bytes, or empty", IsPassword},
        .unit = "",
        .help = "password of the user default, which clients send with AUTH or HELLO; empty: none is needed",
        .applied_by = kAccess,
        .secret = true},
       {"requirepass-file", kGroup, &Options::requirepass_file, Text{"a path", IsAnything}, "",
        "file that contains this password, which keeps it off command lines and out of the environment; a newline at "
        "its end is ignored",
        kStart},
       {"aclfile", kGroup, &Options::aclfile, Text{"a path", IsAnything}, "",
        "file of users and their rules, in Redis's format; read at the start and by ACL LOAD and SIGHUP, written by "
        "ACL SAVE; empty: only ACL SETUSER creates users, and they are lost when the server stops",
        kStart},
       {"acllog-max-len", kGroup, &Options::acllog_max_len, WholeNumber{0, 100'000}, "",
        "maximum number of entries in ACL LOG", kAccess},
       {"protected-mode", kGroup, &Options::protected_mode, OneOf{{"yes", "no"}}, "",
        "yes: as long as the user default needs no password, clients on other machines are refused, and the admin port "
        "serves them only its health checks",
        kAccess}});
}

void AddEvents(Rows& rows) {
  rows.push_back({"notify-keyspace-events", "Events", &Options::notify_keyspace_events,
                  Text{"letters of KEgxdnA (or $lshztemoc, which have no effect here), or empty", IsEventClasses}, "",
                  "which changes are published: K to the channel of the name, E to the channel of the event; g names, "
                  "x expiries, d filters, A all of these, n new names; empty: none",
                  kEvents});
}

// So that each filter is compared with few.
bool IsPatternList(const std::string& text) {
  constexpr size_t kMaxPatterns = 64;
  std::istringstream words(text);
  return std::distance(std::istream_iterator<std::string>(words), {}) <= static_cast<std::ptrdiff_t>(kMaxPatterns);
}

bool IsOrigin(const std::string& text) {
  const size_t host = text.find("://") + 3;
  const bool is_plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f' && c != ','; });
  return text.empty() || text == "*" || (is_plain && host > 3 && text.find('/', host) == std::string::npos);
}

void AddAdminPort(Rows& rows) {
  constexpr std::string_view kGroup = "Admin port";
  rows.insert(
      rows.end(),
      {{"admin-port", kGroup, &Options::admin_port, WholeNumber{0, 65535}, "",
        "TCP port for HTTP: the dashboard, /metrics, /healthz and /readyz; 0: none", kStart},
       {"admin-bind", kGroup, &Options::admin_bind, Text{"an IP address", IsNotEmpty}, "",
        "address that the admin port listens on; 0.0.0.0 and :: mean all addresses of this machine; clients on "
        "other machines need a password there, unless protected-mode is no",
        kStart},
       {"admin-filters", kGroup, &Options::admin_filters, OneOf{{"yes", "no"}}, "",
        "yes: the admin port serves filters at /filters/NAME to users who may run BF.FOLLOW on them", kAdminPort},
       {"admin-filters-origin", kGroup, &Options::admin_filters_origin,
        Text{"an origin such as https://example.com, *, or empty", IsOrigin}, "",
        "origin whose pages may read these filters in browsers; *: any; empty: only the server's own", kAdminPort},
       {"metrics-largest-filters", kGroup, &Options::metrics_largest_filters, WholeNumber{0, 1000}, "filters",
        "number of the largest filters that get per-filter metrics", kAdminPort},
       {"metrics-filters", kGroup, &Options::metrics_filters,
        Text{"up to 64 patterns separated by blanks, or empty", IsPatternList}, "",
        "filters whose names match one of these patterns also get per-filter metrics; if there are more than "
        "1000, the largest do",
        kAdminPort}});
}

void AddRequestLimits(Rows& rows) {
  constexpr std::string_view kGroup = "Request limits";
  rows.insert(rows.end(),
              {{"max-line-bytes", kGroup, &Options::max_line_bytes, ByteSize{64, 64 * kMegabyte}, "",
                "longest plain-text command", kStart},
               {"max-arguments", kGroup, &Options::max_arguments, WholeNumber{16, 1 << 24}, "",
                "maximum number of arguments of one command", kStart},
               {"max-argument-bytes", kGroup, &Options::max_argument_bytes, ByteSize{kKilobyte, 4 * kGigabyte}, "",
                "longest argument (Redis: proto-max-bulk-len)", kStart},
               {"max-request-bytes", kGroup, &Options::max_request_bytes, ByteSize{kKilobyte, 64 * kGigabyte}, "",
                "largest command: all its arguments together (Redis: client-query-buffer-limit)", kStart},
               {"max-name-bytes", kGroup, &Options::max_name_bytes, ByteSize{64, kMegabyte}, "",
                "longest filter name that a command may create; longer names that already exist are kept", kCommands},
               {"max-pattern-bytes", kGroup, &Options::max_pattern_bytes, ByteSize{64, 64 * kKilobyte}, "",
                "longest glob pattern of KEYS, SCAN, PSUBSCRIBE and other commands", kCommands}});
}

void AddMemory(Rows& rows) {
  rows.push_back({"maxmemory-clients", "Memory", &Options::maxmemory_clients,
                  Text{"0, a size of at least 128kb, or a percentage", IsClientMemory}, "",
                  "memory that requests, queued commands, replies, messages, subscriptions and watched names of all "
                  "clients may take together; above it, the clients that take the most are closed; a percentage is of "
                  "maxmemory, or of the machine's memory if maxmemory is 0, and at least 64mb; 0: no limit",
                  kMemory});
  rows.push_back({"maxmemory", "Memory", &Options::maxmemory, ByteSize{64 * kKilobyte, kGigabyte << 30, true, true}, "",
                  "memory that filters may take, in bytes unless a unit is given; commands that would need more are "
                  "refused; auto: 80% of the memory of the machine, or of its cgroup if that is less; 0: no limit",
                  kMemory});
  rows.push_back({"changes-memory", "Memory", &Options::changes_memory, ByteSize{kMegabyte, 64 * kGigabyte}, "",
                  "memory for the latest changes of all filters that are followed (BF.FOLLOW), besides maxmemory; a "
                  "follower that misses changes reads the whole filter again",
                  kMemory});
  rows.push_back(
      {"quota", "Memory", &Options::quota,
       Text{"rows of PATTERN FILTERS BYTES, such as shop:* 1000 100mb; at most 1000, no pattern twice, or empty",
            AreQuotas},
       "",
       "for names that match a pattern: the maximum number of filters, and of bytes that these take together with "
       "their names; commands that would need more are refused with -QUOTA; a name counts for the first pattern that "
       "it matches; 0: no limit; at run time the limits can be changed, but not the patterns",
       kMemory});
}

// The ranges are those of BF.RESERVE.
void AddFilters(Rows& rows) {
  constexpr std::string_view kGroup = "Filters";
  rows.insert(
      rows.end(),
      {{"default-type", kGroup, &Options::default_type, OneOf{DefaultTypes()}, "",
        "type of a filter that is created without TYPE", kCommands},
       {"default-error-rate", kGroup, &Options::default_error_rate, Real{core::kMinErrorRate, core::kMaxErrorRate, 1},
        "", "false positive rate of a filter that BF.ADD, BF.MADD or BF.INSERT creates", kCommands, "bf-error-rate"},
       {"default-capacity", kGroup, &Options::default_capacity, WholeNumber{1, core::kMaxCapacity}, "items",
        "capacity of a filter that BF.ADD, BF.MADD or BF.INSERT creates", kCommands, "bf-initial-size"},
       {"default-expansion", kGroup, &Options::default_expansion, WholeNumber{0, core::kMaxExpansion}, "",
        "growth factor: each further sub-filter is this many times larger than the one before; 0: filters do not grow",
        kCommands, "bf-expansion-factor"}});
}

// Names, defaults and ranges are RedisBloom's; CF.RESERVE has the same ranges.
void AddCuckooFilters(Rows& rows) {
  constexpr std::string_view kGroup = "Cuckoo filters";
  rows.insert(
      rows.end(),
      {{"cf-bucket-size", kGroup, &Options::cf_bucket_size, WholeNumber{1, core::kMaxRedisCuckooBucketSize}, "items",
        "slots per bucket of a filter that CF.* creates; at most half of cf-initial-size", kCommands},
       {"cf-initial-size", kGroup, &Options::cf_initial_size, WholeNumber{2, core::kMaxCapacity}, "items",
        "capacity of a filter that CF.ADD, CF.ADDNX, CF.INSERT or CF.INSERTNX creates; at least twice "
        "cf-bucket-size",
        kCommands},
       {"cf-max-iterations", kGroup, &Options::cf_max_iterations, WholeNumber{1, core::kMaxRedisCuckooIterations}, "",
        "how many items may be moved to make room for another, in a filter that CF.* creates", kCommands},
       {"cf-expansion-factor", kGroup, &Options::cf_expansion_factor, WholeNumber{0, core::kMaxExpansion}, "",
        "growth factor of a filter that CF.* creates, rounded up to a power of two: each further sub-filter is this "
        "many times larger; 0: filters do not grow",
        kCommands},
       {"cf-max-expansions", kGroup, &Options::cf_max_expansions, WholeNumber{1, 65536}, "sub-filters",
        "CF.* adds nothing to a filter that has this many sub-filters", kCommands}});
}

void AddPersistence(Rows& rows) {
  constexpr std::string_view kGroup = "Persistence";
  rows.insert(
      rows.end(),
      {{"dir", kGroup, &Options::dir, Text{"the path of a directory", IsNotEmpty}, "",
        "directory for the snapshots and the log; created if it does not exist", kStart},
       {"save-interval", kGroup, &Options::save_interval, WholeNumber{0, kYearSeconds}, "seconds",
        "time between snapshots of filters that have changed; 0: only on SAVE, BGSAVE and shutdown", kStorage},
       {"snapshot-growth", kGroup, &Options::snapshot_growth, WholeNumber{0, 10'000}, "percent",
        "a periodic snapshot rewrites the file of a large filter once its changes in the log take more than this "
        "percentage of the file; 0: whenever it has changed, as SAVE and BGSAVE do",
        kStorage},
       {"shutdown-timeout", kGroup, &Options::shutdown_timeout, WholeNumber{0, kYearSeconds}, "seconds",
        "time limit for the last snapshot of an orderly stop; what is not saved by then is in the log. Without a log "
        "there is no limit",
        kStorage},
       {"snapshot-memory", kGroup, &Options::snapshot_memory, ByteSize{kMegabyte, 1024 * kGigabyte}, "",
        "memory for changes to a filter while a snapshot writes it; above it, further changes to that filter wait for "
        "the disk",
        kStorage},
       {"appendonly", kGroup, &Options::appendonly, OneOf{{"yes", "no"}}, "",
        "keep an append-only log of every change, so that changes after the last snapshot survive a crash", kStart},
       {"appendfsync", kGroup, &Options::appendfsync, OneOf{{"always", "everysec", "no"}}, "",
        "when the log is synced to the disk, so that it survives a power cut: always: before a change is acknowledged; "
        "everysec: within a second; no: when the system decides",
        kStorage},
       {"max-log-bytes", kGroup, &Options::max_log_bytes, ByteSize{0, 1024 * kGigabyte}, "",
        "make a snapshot of everything that has changed, regardless of save-interval and snapshot-growth, when the log "
        "that a start would read is longer than this; 0: never",
        kStorage},
       {"on-corrupt-filter", kGroup, &Options::on_corrupt_filter, OneOf{{"refuse", "quarantine"}}, "",
        "what to do at the start if a filter file or the manifest is damaged or missing: refuse to start, or move "
        "damaged files to quarantine/ and start without their filters",
        kStart},
       {"on-corrupt-log", kGroup, &Options::on_corrupt_log, OneOf{{"refuse", "truncate"}}, "",
        "what to do at the start if the log is damaged or one of its files is missing: refuse to start, or start with "
        "what comes before the damage; if no log is left, that is the last snapshot",
        kStart}});
}

void AddLogs(Rows& rows) {
  constexpr std::string_view kGroup = "Logs";
  rows.insert(rows.end(),
              {{"loglevel", kGroup, &Options::loglevel, OneOf{{"trace", "debug", "info", "warning", "error", "off"}},
                "", "least severe level of messages that are written", kLog},
               {"logfile", kGroup, &Options::logfile, Text{"a path, or empty for standard error", IsAnything}, "",
                "file that log messages are appended to; SIGHUP reopens it, for example after it was renamed; empty: "
                "standard error",
                kStart},
               {"logformat", kGroup, &Options::logformat, OneOf{{"text", "json"}}, "",
                "text for people to read, or one JSON object per line", kStart}});
}

core::Status CheckRedisSetting(const RedisSetting& setting, std::string_view text, const Options& options) {
  const std::string value = setting.value(options);
  if (text == value) return {};
  return core::Fail(core::ErrorCode::kInvalidArgument, std::string(setting.name) + " can only be " +
                                                           core::Quoted(value) + ", not " + core::Quoted(text) + ": " +
                                                           std::string(setting.reason));
}

// `named`: the options of the pairs before this one.
core::Status SetOne(std::string_view name, std::string_view text, std::vector<const OptionRow*>& named,
                    Options& options) {
  const OptionRow* const row = FindOptionAtRunTime(name);
  if (row == nullptr) return core::Fail(core::ErrorCode::kInvalidArgument, UnknownOption(name));
  if (std::ranges::count(named, row) != 0) return core::Fail(core::ErrorCode::kInvalidArgument, "duplicate parameter");
  named.push_back(row);
  if (!row->at_run_time()) {
    return core::Fail(core::ErrorCode::kInvalidArgument,
                      std::string(row->name) + " cannot be changed at run time: it is read when the server starts");
  }
  return SetOption(*row, text, options);
}

// The content of the files is checked where they are read.
core::Status CheckTls(const Options& options) {
  const auto refuse = [](std::string message) {
    return core::Fail(core::ErrorCode::kInvalidArgument, std::move(message));
  };
  if (options.port == kNoPort && options.tls_port == 0 && options.unixsocket.empty()) {
    return refuse("port off leaves no way to connect: set tls-port or unixsocket");
  }
  if (options.tls_port == 0) return {};
  if (options.tls_cert_file.empty() || options.tls_key_file.empty()) {
    return refuse("tls-port needs tls-cert-file and tls-key-file: the server's certificate and its private key");
  }
  if (options.tls_auth_clients != "no" && options.tls_ca_cert_file.empty()) {
    return refuse("tls-auth-clients " + options.tls_auth_clients +
                  " needs tls-ca-cert-file, the authorities that sign clients' certificates; with tls-auth-clients no "
                  "clients need none");
  }
  return {};
}

}  // namespace

std::span<const OptionRow> OptionTable() {
  static const Rows* const kRows = [] {
    auto* rows = new Rows;  // never freed: threads may ask for an option while the process ends
    AddNetwork(*rows);
    AddTls(*rows);
    AddAccess(*rows);
    AddMonitoring(*rows);
    AddEvents(*rows);
    AddAdminPort(*rows);
    AddRequestLimits(*rows);
    AddMemory(*rows);
    AddFilters(*rows);
    AddCuckooFilters(*rows);
    AddPersistence(*rows);
    AddLogs(*rows);
    return rows;
  }();
  return *kRows;
}

const OptionRow* FindOption(std::string_view name) {
  const auto rows = OptionTable();
  const auto row = std::ranges::find(rows, core::LowerCase(name), &OptionRow::name);
  return row == rows.end() ? nullptr : &*row;
}

const OptionRow* FindOptionAtRunTime(std::string_view name) {
  if (const OptionRow* row = FindOption(name)) return row;
  const auto rows = OptionTable();
  const auto row = std::ranges::find(rows, core::LowerCase(name), &OptionRow::alias);
  return name.empty() || row == rows.end() ? nullptr : &*row;
}

std::string UnknownOption(std::string_view name) {
  constexpr size_t kLongestGuessed = 64;  // the cost grows with the product of both lengths
  std::string message = "unknown option " + core::Quoted(name);
  if (name.size() > kLongestGuessed) return message;
  const std::string lower = core::LowerCase(name);
  const auto distance = [&](const OptionRow& row) { return core::EditDistance(lower, row.name); };
  const OptionRow& nearest = *std::ranges::min_element(OptionTable(), {}, distance);
  if (distance(nearest) <= core::FarthestGuess(lower.size()))
    message += "; did you mean " + std::string(nearest.name) + "?";
  return message;
}

std::vector<std::pair<std::string, std::string>> MatchOptions(const Options& options, std::string_view glob) {
  std::vector<std::pair<std::string, std::string>> found;
  const std::string pattern = core::LowerCase(glob);
  const auto add = [&](std::string_view name, auto value) {
    if (!name.empty() && core::GlobMatch(pattern, name)) found.emplace_back(name, value());
  };
  for (const OptionRow& row : OptionTable()) {
    const auto value = [&] { return OptionText(row, options); };
    add(row.name, value);
    add(row.alias, value);
  }
  for (const RedisSetting& setting : RedisSettings()) add(setting.name, [&] { return setting.value(options); });
  return found;
}

core::Outcome<void, RefusedPair> SetOptionsAtRunTime(std::span<const NameAndText> pairs, Options& options) {
  Options changed = options;
  std::vector<const OptionRow*> named;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto [name, text] = pairs[i];
    if (FindRedisSetting(core::LowerCase(name)) != nullptr) continue;
    const core::Status status = SetOne(name, text, named, changed);
    if (!status) return tl::unexpected(RefusedPair{i, status.error().message});
  }
  // These follow from the options, and so from all pairs.
  for (size_t i = 0; i < pairs.size(); ++i) {
    const RedisSetting* setting = FindRedisSetting(core::LowerCase(pairs[i].first));
    if (setting == nullptr) continue;
    const core::Status status = CheckRedisSetting(*setting, pairs[i].second, changed);
    if (!status) return tl::unexpected(RefusedPair{i, status.error().message});
  }
  if (const core::Status status = CheckTogether(changed); !status) {
    return tl::unexpected(RefusedPair{pairs.size() - 1, status.error().message});
  }
  options = std::move(changed);
  return {};
}

core::Status CheckTogether(const Options& options) {
  if (auto status = CheckTls(options); !status) return status;
  if (options.cf_initial_size >= 2 * uint64_t{options.cf_bucket_size}) return {};
  return core::Fail(core::ErrorCode::kInvalidArgument, "cf-initial-size must be at least twice cf-bucket-size, not " +
                                                           std::to_string(options.cf_initial_size) +
                                                           " with buckets of " +
                                                           std::to_string(options.cf_bucket_size));
}

bool IsSame(const OptionRow& row, const Options& a, const Options& b) {
  return std::visit([&](auto member) { return a.*member == b.*member; }, row.member);
}

void CopyValue(const OptionRow& row, const Options& from, Options& to) {
  std::visit([&](auto member) { to.*member = from.*member; }, row.member);
}

bool IsJsonNumber(const OptionRow& row, const std::string& text) {
  const bool is_word = std::holds_alternative<OneOf>(row.domain) || std::holds_alternative<Text>(row.domain);
  return !is_word && !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string::npos;
}

}  // namespace bitsieve::config
