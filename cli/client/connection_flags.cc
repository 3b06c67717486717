#include "cli/client/connection_flags.h"

#include <algorithm>
#include <iostream>
#include <string_view>

#include "cli/client/configuration.h"
#include "server/options/access_control.h"

namespace bitsieve::cli {
namespace {

// Where a server that listens on `bind` is to be reached from the same machine: at the first of its addresses.
std::string Reachable(std::string_view bind) {
  constexpr std::string_view kSeparators = " \t,";
  bind.remove_prefix(std::min(bind.find_first_not_of(kSeparators), bind.size()));
  const std::string_view first = bind.substr(0, bind.find_first_of(kSeparators));
  if (first == "0.0.0.0" || first == "*") return "127.0.0.1";
  if (first == "::") return "::1";
  return std::string(first);
}

std::string Either(const std::string& given, const std::string& configured) {
  return given.empty() ? configured : given;
}

}  // namespace

void ConnectionFlags::AddTo(CLI::App& command) {
  command
      .add_option("-u,--url", url_, "The server as redis://[user:password@]host[:port], rediss://... or unix:///path")
      ->type_name("URL");
  command.add_option("--host", host_, "Name or address of the server")->type_name("TEXT");
  command.add_option("-p,--port", port_, "TCP port of the server, or its TLS port with --tls")
      ->check(CLI::Range(1, 65535))
      ->type_name("NUMBER");
  command.add_option("-s,--unixsocket", unixsocket_, "Unix socket of the server, instead of host and port")
      ->type_name("PATH");
  command.add_option("--user", user_, "User to authenticate as [default]")->type_name("TEXT");
  command
      .add_option(
          "-a,--password", password_,
          "Password; other users of this machine can see it, so prefer BITSIEVE_REQUIREPASS or --requirepass-file")
      ->type_name("TEXT");
  command.add_flag("--tls", tls_, "Connect with TLS");
  command.add_option("--cacert", cacert_, "PEM file of the authorities to accept for the server's certificate")
      ->type_name("FILE");
  command.add_option("--cert", cert_, "PEM file of the certificate to present to the server")->type_name("FILE");
  command.add_option("--key", key_, "PEM file of its private key")->type_name("FILE");
  command.add_option("--sni", sni_, "Name that the server's certificate is for [its host]")->type_name("TEXT");
  command.add_flag("--insecure", insecure_, "Accept any certificate of the server");
}

void ConnectionFlags::AddAsArgument(CLI::App& command, const std::string& name) {
  command.add_option(name, url_, "The server as bitsieve://[user:password@]host[:port] [that of the configuration]");
}

core::Outcome<clients::ServerUrl> ConnectionFlags::Url() const {
  return url_.empty() ? clients::ServerUrl() : clients::ParseServerUrl(url_);
}

std::string ConnectionFlags::Problem() const {
  const auto url = Url();
  if (!url) return url.error();
  const bool is_twice = !host_.empty() || port_ || !unixsocket_.empty();
  return !url_.empty() && is_twice ? "--url already says where the server is: omit --host, --port and --unixsocket"
                                   : "";
}

core::Result<Credentials> ConnectionFlags::ToCredentials(const config::Options& options) const {
  const clients::ServerUrl url = Url().value();
  const std::string user = Either(url.user, user_);
  const std::string password = Either(url.password, password_);
  if (!password.empty()) return Credentials{.user = user, .password = password};
  const auto configured = server::PasswordOf(options);
  if (!configured) return tl::unexpected(configured.error());
  return Credentials{.user = user, .password = *configured, .is_found = true};
}

Target ConnectionFlags::TargetOf(const clients::ServerUrl& url, const config::Options& options) const {
  return {.unixsocket = url.unixsocket,
          .host = url.host,
          .port = url.port,
          .tls = url.tls ? Tls(options) : std::nullopt,
          .server_name = sni_};
}

Target ConnectionFlags::ToTarget(const config::Options& options) const {
  if (!url_.empty()) {
    clients::ServerUrl url = Url().value();
    url.tls |= tls_;
    return TargetOf(url, options);
  }
  Target target{.unixsocket = unixsocket_,
                .host = host_.empty() ? Reachable(options.bind) : host_,
                .port = 0,
                .tls = std::nullopt,
                .server_name = sni_};
  if (!unixsocket_.empty()) return target;
  const bool has_port = port_ || options.port != config::kNoPort;
  if (tls_ || (!has_port && options.tls_port != 0)) {
    target.tls = Tls(options);
    target.port = port_.value_or(options.tls_port);
  } else if (has_port) {
    target.port = port_.value_or(static_cast<uint16_t>(options.port));
  } else {
    target.unixsocket = options.unixsocket;
  }
  return target;
}

std::optional<server::TlsSettings> ConnectionFlags::Tls(const config::Options& options) const {
  using enum server::TlsSettings::Peers;
  const bool is_own = cert_.empty();  // the server's own certificate, if there is one
  return server::TlsSettings{.cert_file = is_own ? options.tls_cert_file : cert_,
                             .key_file = is_own ? options.tls_key_file : Either(key_, cert_),
                             .key_file_pass = is_own ? options.tls_key_file_pass : "",
                             .ca_cert_file = Either(cacert_, options.tls_ca_cert_file),
                             .peers = insecure_ ? kUnchecked : kMustShow,
                             .protocols = "",
                             .ciphers = "",
                             .ciphersuites = ""};
}

std::optional<ServerAccess> ServerOf(const CLI::App& command, const ConnectionFlags& connection,
                                     const config::Flags& flags) {
  const auto refuse = [&command](const std::string& problem) {
    std::cerr << "bitsieve " << command.get_name() << ": " << problem << '\n';
    return std::nullopt;
  };
  if (const std::string problem = connection.Problem(); !problem.empty()) return refuse(problem);
  const auto configuration = LoadOrExplain(command, flags.ToSources());
  if (!configuration) return std::nullopt;
  auto credentials = connection.ToCredentials(configuration->options);
  if (!credentials) return refuse(credentials.error().message);
  return ServerAccess{connection.ToTarget(configuration->options), std::move(*credentials)};
}

}  // namespace bitsieve::cli
