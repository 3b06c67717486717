#include "server/options/settings.h"

namespace bitsieve::server {

using namespace commands;

void Fill(CommandSettings& settings, const config::Options& options) {
  commands::FillFilterSettings(settings, options);
  settings.max_queued_bytes = options.max_request_bytes;
  settings.max_name_bytes = options.max_name_bytes;
  settings.max_pattern_bytes = options.max_pattern_bytes;
}

void Fill(NetSettings& settings, const config::Options& options) {
  settings.maxclients = options.maxclients;
  settings.timeout_s = options.timeout;
  settings.tcp_keepalive_s = options.tcp_keepalive;
  settings.protected_mode = options.protected_mode == "yes";
  settings.output_limit_bytes = options.client_output_buffer_limit;
}

void Fill(protocol::RequestLimits& limits, const config::Options& options) {
  limits = {.max_line_bytes = options.max_line_bytes,
            .max_arguments = options.max_arguments,
            .max_argument_bytes = options.max_argument_bytes,
            .max_request_bytes = options.max_request_bytes};
}

TlsSettings TlsSettingsOf(const config::Options& options) {
  using enum TlsSettings::Peers;
  const std::string& clients = options.tls_auth_clients;
  return {.cert_file = options.tls_cert_file,
          .key_file = options.tls_key_file,
          .key_file_pass = options.tls_key_file_pass,
          .ca_cert_file = options.tls_ca_cert_file,
          .peers = clients == "no"         ? kUnchecked
                   : clients == "optional" ? kMayShow
                                           : kMustShow,
          .protocols = options.tls_protocols,
          .ciphers = options.tls_ciphers,
          .ciphersuites = options.tls_ciphersuites};
}

std::optional<mode_t> UnixSocketPermissions(const config::Options& options) {
  if (options.unixsocketperm.empty()) return std::nullopt;
  return static_cast<mode_t>(std::stoul(options.unixsocketperm, nullptr, 8));
}

}  // namespace bitsieve::server
