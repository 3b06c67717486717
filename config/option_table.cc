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
#include "core/families/redisbloom/redisbloom_types.h"
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
constexpr size_t kMaxPasswordBytes = 16 * 1024;  // what access control takes
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
        Text{"one or more addresses or host names, with blanks or commas between them", IsHostList}, "",
        "addresses to listen on; 0.0.0.0 and :: are all of this machine's, open to anyone who can reach it", kStart},
       {"port", kGroup, &Options::port, WholeNumber{0, 65535, true}, "",
        "TCP port to listen on; 0 takes any free port and writes it to the log; off: clients come through tls-port or "
        "unixsocket alone",
        kStart},
       {"unixsocket", kGroup, &Options::unixsocket, Text{"a path, or empty for none", IsAnything}, "",
        "Unix socket to listen on as well, removed at the end; empty: none", kStart},
       {"unixsocketperm", kGroup, &Options::unixsocketperm, Text{"octal digits from 0 to 777, or empty", IsPermissions},
        "",
        "permissions of the Unix socket, as chmod takes them; connecting needs the one to write; empty: what the umask "
        "leaves",
        kStart},
       {"io-threads", kGroup, &Options::io_threads, WholeNumber{0, 256}, "",
        "event loops, each with a thread of its own; 0 is one per core, at most 8", kStart},
       {"maxclients", kGroup, &Options::maxclients, WholeNumber{1, 1'000'000}, "",
        "connections at a time; further ones are refused", kNetwork},
       {"timeout", kGroup, &Options::timeout, WholeNumber{0, kYearSeconds}, "seconds",
        "close a connection that is idle for so long; 0 is never", kNetwork},
       {"tcp-keepalive", kGroup, &Options::tcp_keepalive, WholeNumber{0, 32767}, "seconds",
        "probe the peer of a silent connection after so long; 0 is off; changes hold for new "
        "connections",
        kNetwork},
       {"client-output-buffer-limit", kGroup, &Options::client_output_buffer_limit,
        ByteSize{64 * kKilobyte, 1024 * kGigabyte}, "",
        "close a connection whose replies would take more than this while it does not read; at half of it no further "
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
        "TCP port of TLS, on the addresses of bind; 0: none", kStart},
       {"tls-cert-file", kGroup, &Options::tls_cert_file, path, "",
        "the server's certificate in PEM form, and after it those between it and the authority", kTls},
       {"tls-key-file", kGroup, &Options::tls_key_file, path, "", "the certificate's private key in PEM form", kTls},
       {.name = "tls-key-file-pass",
        .group = kGroup,
        .member = &Options::tls_key_file_pass,
        .domain = Text{"a password, or empty", IsAnything},
        .unit = "",
        .help = "the password of the private key, if it is encrypted",
        .applied_by = kTls,
        .secret = true},
       {"tls-ca-cert-file", kGroup, &Options::tls_ca_cert_file, path, "",
        "certificates in PEM form of the authorities that sign those of clients", kTls},
       {"tls-auth-clients", kGroup, &Options::tls_auth_clients, OneOf{{"yes", "no", "optional"}}, "",
        "whether clients of the TLS port show a certificate: yes, they must; no, none is looked at; optional, if they "
        "show one it must be valid",
        kTls},
       {"tls-protocols", kGroup, &Options::tls_protocols,
        Text{"TLSv1.2, TLSv1.3 or both, with a blank between them, or empty", AreTlsProtocols}, "",
        "versions of TLS; empty: both", kTls},
       {"tls-ciphers", kGroup, &Options::tls_ciphers, Text{"a list as OpenSSL takes it, or empty", IsAnything}, "",
        "ciphers of TLSv1.2; empty: OpenSSL's choice", kTls},
       {"tls-ciphersuites", kGroup, &Options::tls_ciphersuites,
        Text{"a list as OpenSSL takes it, or empty", IsAnything}, "", "ciphers of TLSv1.3; empty: OpenSSL's choice",
        kTls}});
}

void AddMonitoring(Rows& rows) {
  constexpr std::string_view kGroup = "Monitoring";
  rows.insert(
      rows.end(),
      {{"slowlog-log-slower-than", kGroup, &Options::slowlog_log_slower_than, SignedNumber{-1, 3'600'000'000},
        "microseconds",
        "commands that take so long are kept for SLOWLOG; 0 is every command, -1 none; below 1000, quick commands "
        "are timed one by one, which takes longer",
        kMonitoring},
       {"slowlog-max-len", kGroup, &Options::slowlog_max_len, WholeNumber{0, 10'000}, "", "how many of them are kept",
        kMonitoring},
       {"latency-monitor-threshold", kGroup, &Options::latency_monitor_threshold, WholeNumber{0, 3'600'000},
        "milliseconds", "what takes so long is noted for LATENCY; 0 is nothing", kMonitoring}});
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
        .help = "password of the user default, which clients give with AUTH or HELLO; empty: none is needed",
        .applied_by = kAccess,
        .secret = true},
       {"requirepass-file", kGroup, &Options::requirepass_file, Text{"a path", IsAnything}, "",
        "file that holds that password, so that it is on no command line and in no environment; a newline at its end "
        "does not count",
        kStart},
       {"aclfile", kGroup, &Options::aclfile, Text{"a path", IsAnything}, "",
        "file of users and their rules, as Redis has it; read at the start and by ACL LOAD and SIGHUP, written by ACL "
        "SAVE; empty: users are made by ACL SETUSER alone, and end with the process",
        kStart},
       {"acllog-max-len", kGroup, &Options::acllog_max_len, WholeNumber{0, 100'000}, "", "entries of ACL LOG", kAccess},
       {"protected-mode", kGroup, &Options::protected_mode, OneOf{{"yes", "no"}}, "",
        "yes: as long as the user default needs no password, clients from other machines are refused, and the admin "
        "port "
        "shows them nothing but its health checks",
        kAccess}});
}

void AddEvents(Rows& rows) {
  rows.push_back(
      {"notify-keyspace-events", "Events", &Options::notify_keyspace_events,
       Text{"letters of KEgxdnA (or $lshztemoc, which stand for nothing here), or empty", IsEventClasses}, "",
       "what is published of changes: K to the channels of names, E to those of events; g names, x expiries, "
       "d filters, A all of these, n new names; empty: nothing",
       kEvents});
}

// So that each filter is compared with few.
bool IsPatternList(const std::string& text) {
  constexpr size_t kMaxPatterns = 64;
  std::istringstream words(text);
  return std::distance(std::istream_iterator<std::string>(words), {}) <= static_cast<std::ptrdiff_t>(kMaxPatterns);
}

void AddAdminPort(Rows& rows) {
  constexpr std::string_view kGroup = "Admin port";
  rows.insert(
      rows.end(),
      {{"admin-port", kGroup, &Options::admin_port, WholeNumber{0, 65535}, "",
        "TCP port of the dashboard, /metrics, /healthz and /readyz, by HTTP; 0: none", kStart},
       {"admin-bind", kGroup, &Options::admin_bind, Text{"an IP address", IsNotEmpty}, "",
        "address that the admin port listens on; 0.0.0.0 or :: are all of this machine's; other machines need a "
        "password there, or protected-mode no",
        kStart},
       {"metrics-largest-filters", kGroup, &Options::metrics_largest_filters, WholeNumber{0, 1000}, "filters",
        "so many of the largest filters have metrics of their own", kAdminPort},
       {"metrics-filters", kGroup, &Options::metrics_filters,
        Text{"up to 64 patterns with blanks between them, or empty", IsPatternList}, "",
        "filters whose names match one of these patterns have metrics of their own, too; of more than 1000 "
        "the largest",
        kAdminPort}});
}

void AddRequestLimits(Rows& rows) {
  constexpr std::string_view kGroup = "Request limits";
  rows.insert(rows.end(),
              {{"max-line-bytes", kGroup, &Options::max_line_bytes, ByteSize{64, 64 * kMegabyte}, "",
                "longest plain-text command", kStart},
               {"max-arguments", kGroup, &Options::max_arguments, WholeNumber{16, 1 << 24}, "",
                "arguments of one command", kStart},
               {"max-argument-bytes", kGroup, &Options::max_argument_bytes, ByteSize{kKilobyte, 4 * kGigabyte}, "",
                "longest argument (Redis: proto-max-bulk-len)", kStart},
               {"max-request-bytes", kGroup, &Options::max_request_bytes, ByteSize{kKilobyte, 64 * kGigabyte}, "",
                "largest command, all its arguments together (Redis: client-query-buffer-limit)", kStart},
               {"max-name-bytes", kGroup, &Options::max_name_bytes, ByteSize{64, kMegabyte}, "",
                "longest name of a filter that a command may create; longer names that exist already stay", kCommands},
               {"max-pattern-bytes", kGroup, &Options::max_pattern_bytes, ByteSize{64, 64 * kKilobyte}, "",
                "longest glob pattern of KEYS, SCAN, PSUBSCRIBE and other commands", kCommands}});
}

void AddMemory(Rows& rows) {
  rows.push_back({"maxmemory-clients", "Memory", &Options::maxmemory_clients,
                  Text{"0, a size from 128kb on, or a percentage", IsClientMemory}, "",
                  "memory that requests, queued commands, replies, messages, subscriptions and watched names of all "
                  "clients may take together; beyond, the clients that take the most are closed; a percentage is of "
                  "maxmemory, or of the machine's memory if that is 0, and at least 64mb; 0 is no limit",
                  kMemory});
  rows.push_back({"maxmemory", "Memory", &Options::maxmemory, ByteSize{64 * kKilobyte, kGigabyte << 30, true, true}, "",
                  "memory that filters may take, in bytes unless a unit is given; commands that would need more are "
                  "refused; auto is 80% of the memory of "
                  "the machine, or of its cgroup if that may use less; 0 is no limit",
                  kMemory});
  rows.push_back(
      {"quota", "Memory", &Options::quota,
       Text{"rows of PATTERN FILTERS BYTES, such as shop:* 1000 100mb; at most 1000, no pattern twice, or empty",
            AreQuotas},
       "",
       "how many filters of names that match a pattern there may be, and how many bytes they may take together with "
       "their names; more are refused with -QUOTA; a name counts for the first pattern that it matches; 0 is no limit; "
       "at run time the limits can be changed, but not the patterns",
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
        "how many times larger each further sub-filter of a full filter is; 0: filters do not grow", kCommands,
        "bf-expansion-factor"}});
}

// Names, defaults and ranges are RedisBloom's; CF.RESERVE has the same ranges.
void AddCuckooFilters(Rows& rows) {
  constexpr std::string_view kGroup = "Cuckoo filters";
  rows.insert(
      rows.end(),
      {{"cf-bucket-size", kGroup, &Options::cf_bucket_size, WholeNumber{1, core::kMaxRedisCuckooBucketSize}, "items",
        "room of a bucket of a filter that CF.* creates; at most half of cf-initial-size", kCommands},
       {"cf-initial-size", kGroup, &Options::cf_initial_size, WholeNumber{2, core::kMaxCapacity}, "items",
        "capacity of a filter that CF.ADD, CF.ADDNX, CF.INSERT or CF.INSERTNX creates; at least twice "
        "cf-bucket-size",
        kCommands},
       {"cf-max-iterations", kGroup, &Options::cf_max_iterations, WholeNumber{1, core::kMaxRedisCuckooIterations}, "",
        "how many items of a filter that CF.* creates may be moved to make room for another", kCommands},
       {"cf-expansion-factor", kGroup, &Options::cf_expansion_factor, WholeNumber{0, core::kMaxExpansion}, "",
        "how many times larger each further sub-filter of a filter that CF.* creates is, rounded up to a power "
        "of two; 0: filters do not grow",
        kCommands},
       {"cf-max-expansions", kGroup, &Options::cf_max_expansions, WholeNumber{1, 65536}, "sub-filters",
        "CF.* adds nothing to a filter that has so many", kCommands}});
}

void AddPersistence(Rows& rows) {
  constexpr std::string_view kGroup = "Persistence";
  rows.insert(
      rows.end(),
      {{"dir", kGroup, &Options::dir, Text{"the path of a directory", IsNotEmpty}, "",
        "directory of the snapshots and the log; made if it is not there", kStart},
       {"save-interval", kGroup, &Options::save_interval, WholeNumber{0, kYearSeconds}, "seconds",
        "time between snapshots of what changed; 0: only on SAVE, BGSAVE and shutdown", kStorage},
       {"snapshot-growth", kGroup, &Options::snapshot_growth, WholeNumber{0, 10'000}, "percent",
        "a filter with a file of its own is written anew by the snapshots of save-interval when the log has more "
        "changes "
        "of it than this share of the file; 0: whenever it changed, as by SAVE and BGSAVE",
        kStorage},
       {"shutdown-timeout", kGroup, &Options::shutdown_timeout, WholeNumber{0, kYearSeconds}, "seconds",
        "time for the last snapshot of an orderly stop; what is not saved by then is in the log. Without a log there "
        "is "
        "no limit",
        kStorage},
       {"snapshot-memory", kGroup, &Options::snapshot_memory, ByteSize{kMegabyte, 1024 * kGigabyte}, "",
        "what may be kept in memory of what changes while a filter is being written; beyond, changes to that "
        "filter wait for the disk",
        kStorage},
       {"appendonly", kGroup, &Options::appendonly, OneOf{{"yes", "no"}}, "",
        "keep a log of every change, so that what came after the last snapshot survives a crash", kStart},
       {"appendfsync", kGroup, &Options::appendfsync, OneOf{{"always", "everysec", "no"}}, "",
        "when the log is made to survive a power cut as well: always, before a change is acknowledged; everysec, "
        "within a second; no, when the system thinks fit",
        kStorage},
       {"max-log-bytes", kGroup, &Options::max_log_bytes, ByteSize{0, 1024 * kGigabyte}, "",
        "a snapshot of everything that changed is made, whatever save-interval and snapshot-growth say, when the log "
        "that a start reads is longer than this; 0 is never",
        kStorage},
       {"on-corrupt-filter", kGroup, &Options::on_corrupt_filter, OneOf{{"refuse", "quarantine"}}, "",
        "a filter file or the manifest is damaged or missing at start: refuse to start, or set the damaged files aside "
        "and start without their filters",
        kStart},
       {"on-corrupt-log", kGroup, &Options::on_corrupt_log, OneOf{{"refuse", "truncate"}}, "",
        "the log is damaged or a file of it is missing at start: refuse to start, or start with what comes before the "
        "damage; with no log left, that is the last snapshot",
        kStart},
       {"on-corrupt", kGroup, &Options::on_corrupt, OneOf{{"refuse", "quarantine", "truncate"}}, "",
        "older name: quarantine is on-corrupt-filter quarantine, truncate is on-corrupt-log truncate", kStart}});
}

void AddLogs(Rows& rows) {
  constexpr std::string_view kGroup = "Logs";
  rows.insert(rows.end(),
              {{"loglevel", kGroup, &Options::loglevel, OneOf{{"trace", "debug", "info", "warning", "error", "off"}},
                "", "least severe messages that are still written", kLog},
               {"logfile", kGroup, &Options::logfile, Text{"a path, or empty for standard error", IsAnything}, "",
                "file that messages are appended to; SIGHUP opens it anew, after it was renamed; empty: standard error",
                kStart},
               {"logformat", kGroup, &Options::logformat, OneOf{{"text", "json"}}, "",
                "lines for people, or one JSON object a line", kStart}});
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

tl::expected<void, RefusedPair> SetOptionsAtRunTime(std::span<const NameAndText> pairs, Options& options) {
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
