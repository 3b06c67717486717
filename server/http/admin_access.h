// admin_access.h: who may use the admin port. Thread-safe: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/admin_request.h"

namespace bitsieve::server {

// Callbacks to the server's users, called on any thread. If none is set, no password is needed.
struct AdminAccess {
  // Protected mode: there is no password, and only peers on loopback are let in.
  std::function<bool()> is_protected = {};
  // Whether clients of the server need a password. A peer on loopback never needs one here.
  std::function<bool()> needs_password;
  // Only called if one is needed.
  std::function<bool(std::string_view user, std::string_view password)> may_read;
};

enum class Admission {
  kAllowed,
  kProtected,      // see is_protected
  kNeedsPassword,  // it sent none, or a wrong one
  kStrangeHost,    // a browser may have been led here by a name that is not this server's
};

Admission Admit(const AdminAccess& access, const AdminRequest& request);

// Returns user and password of a header such as "Basic dXNlcjpwYXNzd29yZA=="; nothing if it is not one.
std::optional<std::pair<std::string, std::string>> BasicCredentials(std::string_view authorization);

// Whether the value of a Host header can only mean this server: an address, a name without dots, or one below a
// top-level name that is reserved for private networks. Any other name may be one that its owner has pointed at this
// machine, so that a browser takes a page of his for one of ours (DNS rebinding).
bool IsPrivateHost(std::string_view host);

}  // namespace bitsieve::server
