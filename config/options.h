// options.h: every setting of the server, as typed values. Names, ranges, help and where a value may come from are in
// the option table (option_table.h); this is what the program reads. Thread-compatible: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "commands/template_entry.h"
#include "core/filter/filter_params.h"

namespace bitsieve::config {

// Value of the option port if there is no port without TLS.
inline constexpr uint32_t kNoPort = 65536;

// Value of a size that the server works out from the machine.
inline constexpr uint64_t kAutomatic = UINT64_MAX;

// Access control takes no longer one.
inline constexpr size_t kMaxPasswordBytes = 16 * 1024;

struct Options {
  // network
  std::string bind = "127.0.0.1";
  uint32_t port = 7379;     // 0: any free port, shown in the log; or kNoPort
  uint32_t io_threads = 0;  // event loops; 0: one per core, at most 8
  uint32_t maxclients = 10000;
  uint32_t timeout = 0;                                // seconds a connection may be idle; 0: for ever
  uint32_t tcp_keepalive = 300;                        // seconds; 0: off
  uint64_t client_output_buffer_limit = 256ULL << 20;  // bytes of replies that a client may leave unread

  std::string unixsocket;      // a path; empty: none
  std::string unixsocketperm;  // octal digits; empty: as the process's umask has it

  // TLS
  uint16_t tls_port = 0;  // 0: none
  std::string tls_cert_file;
  std::string tls_key_file;
  std::string tls_key_file_pass;
  std::string tls_ca_cert_file;
  std::string tls_auth_clients = "yes";  // yes | no | optional
  std::string tls_protocols;             // empty: TLSv1.2 TLSv1.3
  std::string tls_ciphers;               // of TLS 1.2; empty: OpenSSL's
  std::string tls_ciphersuites;          // of TLS 1.3; empty: OpenSSL's

  // access
  std::string requirepass;       // of the user default; empty: none
  std::string requirepass_file;  // a file that holds it
  std::string aclfile;           // empty: users are not kept
  uint32_t acllog_max_len = 128;
  std::string protected_mode = "yes";  // yes | no

  // admin port
  uint16_t admin_port = 0;  // 0: none
  std::string admin_bind = "127.0.0.1";
  std::string admin_filters = "no";       // yes | no
  std::string admin_filters_origin;       // of pages in browsers; *: any; empty: none
  uint32_t metrics_largest_filters = 10;  // each has metrics of its own
  std::string metrics_filters;            // and so have those whose names match these patterns

  // monitoring
  int64_t slowlog_log_slower_than = 10'000;  // microseconds; 0: every command; -1: none
  uint32_t slowlog_max_len = 128;
  uint32_t latency_monitor_threshold = 0;  // milliseconds; 0: off

  // events
  std::string notify_keyspace_events;  // letters; empty: none are published

  // request limits
  uint64_t max_line_bytes = 64ULL << 10;
  uint64_t max_arguments = 1ULL << 20;
  uint64_t max_argument_bytes = 512ULL << 20;
  uint64_t max_request_bytes = 1024ULL << 20;
  uint64_t max_name_bytes = 64ULL << 10;
  uint64_t max_pattern_bytes = 4ULL << 10;

  // memory
  std::string maxmemory_clients = "10%";  // all connections' buffers: a size, or a percentage of maxmemory
  uint64_t maxmemory = kAutomatic;        // bytes that filters may take; 0: no limit
  uint64_t changes_memory = 64ULL << 20;  // bytes of the changes that followers of filters read
  std::string quota;                      // rows of "PATTERN FILTERS BYTES": see quotas.h

  // filters
  std::string default_type{core::FilterTypeName(core::kDefaultFilterType)};
  double default_error_rate = core::FilterParams{}.error_rate;
  uint64_t default_capacity = core::FilterParams{}.capacity;
  uint32_t default_expansion = core::FilterParams{}.expansion;  // 0: filters do not grow
  std::vector<commands::TemplateEntry> templates;               // only from the file: not an option of the table

  // cuckoo filters
  uint32_t cf_bucket_size = 2;
  uint64_t cf_initial_size = 1024;
  uint32_t cf_max_iterations = 20;
  uint32_t cf_expansion_factor = 1;  // 0: filters do not grow
  uint32_t cf_max_expansions = 32;

  // persistence
  std::string dir = "./data";
  uint32_t save_interval = 60;     // seconds between snapshots of what changed; 0: only on SAVE, BGSAVE and shutdown
  uint32_t snapshot_growth = 100;  // percent of a large filter's file that its log may have before it is rewritten
  uint32_t shutdown_timeout = 3;   // seconds for the last snapshot, if there is a log
  uint64_t snapshot_memory = 256ULL << 20;   // bytes kept of what changes while a filter is being written
  std::string appendonly = "yes";            // yes | no: whether changes are logged between snapshots
  std::string appendfsync = "everysec";      // always | everysec | no
  uint64_t max_log_bytes = 1ULL << 30;       // a snapshot is made when the log is longer; 0: never for that
  std::string on_corrupt_filter = "refuse";  // refuse | quarantine
  std::string on_corrupt_log = "refuse";     // refuse | truncate

  // logs
  std::string loglevel = "info";   // trace | debug | info | warning | error | off
  std::string logfile;             // empty: standard error
  std::string logformat = "text";  // text | json
};

}  // namespace bitsieve::config
