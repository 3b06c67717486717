#include "server/http/admin_access.h"

#include <algorithm>
#include <array>
#include <asio/ip/address.hpp>
#include <cctype>
#include <cstdint>
#include <utility>

#include "core/base/parse.h"

namespace bitsieve::server {
namespace {

constexpr size_t kMaxHostBytes = 255;
constexpr std::array<std::string_view, 6> kPrivateSuffixes = {".localhost", ".local",     ".internal",
                                                              ".svc",       ".home.arpa", ".test"};

std::optional<uint32_t> SextetOf(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return std::nullopt;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  std::string bytes;
  uint32_t pending = 0;
  int bits = 0;
  for (const char c : text) {
    const auto sextet = SextetOf(c);
    if (!sextet) return std::nullopt;
    pending = pending << 6 | *sextet;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(pending >> bits & 0xFF);
  }
  return bytes;
}

bool IsAddress(std::string_view text) {
  asio::error_code error;
  asio::ip::make_address(std::string(text), error);
  return !error;
}

// Without the port; empty if it is malformed.
std::string_view NameIn(std::string_view host) {
  size_t end = host.size();
  if (host.starts_with('[')) {
    end = host.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view port = host.substr(end + 1);
    return port.empty() || port.starts_with(':') ? host.substr(1, end - 1) : std::string_view();
  }
  return host.substr(0, host.find(':'));
}

AdminResponse PasswordRequest() {
  AdminResponse response = Refusal(401, "the name and password of a user of the server are required (HTTP Basic)");
  response.headers.emplace_back("WWW-Authenticate", R"(Basic realm="Bitsieve", charset="UTF-8")");
  return response;
}

bool IsNameByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'; }

}  // namespace

std::optional<Credentials> BasicCredentials(std::string_view authorization) {
  constexpr std::string_view kScheme = "basic ";
  if (!core::EqualsIgnoringCase(authorization.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  const auto bytes = DecodeBase64(authorization.substr(kScheme.size()));
  if (!bytes) return std::nullopt;
  const size_t colon = bytes->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return Credentials{bytes->substr(0, colon), bytes->substr(colon + 1)};
}

bool IsPrivateHost(std::string_view host) {
  if (host.size() > kMaxHostBytes) return false;
  const std::string name = core::LowerCase(NameIn(host));
  if (name.empty()) return false;
  if (IsAddress(name)) return true;
  if (!std::ranges::all_of(name, IsNameByte)) return false;
  if (name.find('.') == std::string::npos) return true;
  return std::ranges::any_of(kPrivateSuffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

// A page of another origin does not know a password of ours, so a password makes up for a strange host; but where none
// is needed, any may do.
Admission Admit(const AdminAccess& access, const AdminRequest& request) {
  if (!request.from_loopback && access.is_protected && access.is_protected()) return Admission::kProtected;
  if (access.needs_password && access.needs_password()) {
    const auto credentials = BasicCredentials(request.authorization);
    if (credentials && access.may_read(credentials->user, credentials->password)) return Admission::kAllowed;
    if (!request.from_loopback) return Admission::kNeedsPassword;
  }
  return IsPrivateHost(request.host) ? Admission::kAllowed : Admission::kStrangeHost;
}

Admission AdmitToFilter(const AdminAccess& access, const AdminRequest& request, std::string_view command,
                        std::string_view name, bool to_any_host) {
  if (!request.from_loopback && access.is_protected && access.is_protected()) return Admission::kProtected;
  const bool needs_password = access.needs_password && access.needs_password();
  const auto credentials = BasicCredentials(request.authorization);
  if (!credentials && (needs_password || !request.authorization.empty())) return Admission::kNeedsPassword;
  if (!needs_password && !to_any_host && !IsPrivateHost(request.host)) return Admission::kStrangeHost;
  return access.admit_to_filter ? access.admit_to_filter(credentials, command, name) : Admission::kAllowed;
}

AdminResponse Refusal(int status, std::string text) { return {.status = status, .body = std::move(text) + "\n"}; }

std::optional<AdminResponse> RefusalOf(Admission admission) {
  switch (admission) {
    case Admission::kAllowed:
      break;
    case Admission::kProtected:
      return Refusal(403,
                     "protected mode: without a password of the user default, other machines see only /healthz and "
                     "/readyz. Set requirepass-file or requirepass, or protected-mode no if every host of the network "
                     "is trusted");
    case Admission::kNeedsPassword:
      return PasswordRequest();
    case Admission::kStrangeHost:
      return Refusal(403, "the Host header must be an address, a name without dots or one of a private network");
    case Admission::kHidden:
      return Refusal(404, "no such filter");
  }
  return std::nullopt;
}

}  // namespace bitsieve::server
