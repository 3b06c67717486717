// connection_flags.h: the flags that say where a server is, for subcommands, named as those of redis-cli. What is not
// given is taken from the configuration, so that on the server's own machine none is needed. Confined to the main
// thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/client/client_connection.h"
#include "clients/cpp/server_url.h"
#include "config/flags.h"
#include "config/options.h"
#include "core/base/result.h"

namespace bitsieve::cli {

// A server, and the credentials for it.
struct ServerAccess {
  Target target;
  Credentials credentials;
};

class ConnectionFlags {
 public:
  // The flags must not move afterwards.
  void AddTo(CLI::App& command);
  // The URL, as an argument of its own, too.
  void AddAsArgument(CLI::App& command, const std::string& name);
  // Returns whether a flag or the URL says where the server is.
  bool is_given() const { return !url_.empty() || !host_.empty() || port_ || !unixsocket_.empty(); }
  // Returns what is wrong with the combination of flags; empty if nothing is. The functions below may be called only
  // then.
  std::string Problem() const;
  // The TCP port, or if the server has none the TLS port, or else its Unix socket.
  Target ToTarget(const config::Options& options) const;
  // Another server, with the flags for TLS.
  Target TargetOf(const clients::ServerUrl& url, const config::Options& options) const;
  // Returns the credentials of the URL, the flags, or the configuration, in this order. The error: a file of the
  // configuration cannot be read.
  core::Result<Credentials> ToCredentials(const config::Options& options) const;

 private:
  std::optional<server::TlsSettings> Tls(const config::Options& options) const;

  core::Outcome<clients::ServerUrl> Url() const;

  std::string url_;
  std::string user_, password_;
  std::string host_;
  std::optional<uint16_t> port_;
  std::string unixsocket_;
  bool tls_ = false;
  bool insecure_ = false;
  std::string cacert_, cert_, key_, sni_;
};

// Returns nothing if something is wrong, which is then explained on standard error.
std::optional<ServerAccess> ServerOf(const CLI::App& command, const ConnectionFlags& connection,
                                     const config::Flags& flags);

}  // namespace bitsieve::cli
