#include "clients/cpp/server_url.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/parse.h"
#include "core/base/quote.h"

namespace bitsieve::clients {
namespace {

constexpr uint16_t kRedisPort = 6379, kBitsievePort = 7379;
constexpr std::string_view kForms = "a URL is redis://[user:password@]host[:port], rediss:// for TLS, or unix:///path";

tl::unexpected<std::string> Wrong(std::string_view text, std::string_view problem) {
  return tl::unexpected("the URL " + core::Quoted(text) + " " + std::string(problem) + "; " + std::string(kForms));
}

// "host", "host:7379", "[::1]:7379"; false: it is none of them.
bool ReadAddress(std::string_view text, ServerUrl& url) {
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
  }
  url.host = host;
  if (port.empty()) return !host.empty();
  if (!port.starts_with(':')) return false;
  const auto number = core::ParseUnsigned(port.substr(1));
  if (!number || *number == 0 || *number > UINT16_MAX) return false;
  url.port = static_cast<uint16_t>(*number);
  return !host.empty();
}

}  // namespace

core::Outcome<ServerUrl> ParseServerUrl(std::string_view text) {
  const size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return Wrong(text, "has no scheme");
  const std::string_view scheme = text.substr(0, scheme_end);
  std::string_view rest = text.substr(scheme_end + 3);
  ServerUrl url;
  if (scheme == "unix") {
    if (!rest.starts_with('/')) return Wrong(text, "has no absolute path");
    url.unixsocket = rest;
    return url;
  }
  url.tls = scheme == "rediss" || scheme == "bitsieves";
  if (!url.tls && scheme != "redis" && scheme != "bitsieve") return Wrong(text, "has an unknown scheme");
  url.port = scheme.starts_with("redis") ? kRedisPort : kBitsievePort;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view login = rest.substr(0, at);
    const size_t colon = login.find(':');
    const auto user = core::PercentDecoded(login.substr(0, std::min(colon, login.size())));
    const auto password = core::PercentDecoded(colon == std::string_view::npos ? "" : login.substr(colon + 1));
    if (!user || !password)
      return Wrong(text.substr(0, scheme_end), "has a % that is not followed by two hexadecimal digits");
    url.user = *user;
    url.password = *password;
    rest.remove_prefix(at + 1);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find('/') != std::string_view::npos) return Wrong(text, "has a path, but there is only one database");
  if (!ReadAddress(rest, url)) return Wrong(text, "has no host, or an invalid port");
  return url;
}

}  // namespace bitsieve::clients
