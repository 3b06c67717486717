// admin_access.h: who may use the admin port. Thread-safe: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/admin_request.h"

namespace bitsieve::server {

struct Credentials {
  std::string user;
  std::string password;

  bool operator==(const Credentials&) const = default;
};

enum class Admission {
  kAllowed,
  kProtected,      // see is_protected
  kNeedsPassword,  // it sent none, or a wrong one
  kStrangeHost,    // a browser may have been led here by a name that is not this server's
  kHidden,         // the user may not read the filter, nor learn whether there is one
};

// Callbacks to the server's users, called on any thread. If none is set, no password is needed.
struct AdminAccess {
  // Protected mode: there is no password, and only peers on loopback are let in.
  std::function<bool()> is_protected = {};
  // Whether clients of the server need a password. A peer on loopback never needs one here.
  std::function<bool()> needs_password;
  // Only called if one is needed.
  std::function<bool(std::string_view user, std::string_view password)> may_read;
  // Whether a user may run the command on the filter of this name: kAllowed, kNeedsPassword if the password is wrong,
  // or kHidden. Without credentials the user is default, which needs no password then.
  std::function<Admission(const std::optional<Credentials>& credentials, std::string_view command,
                          std::string_view name)>
      admit_to_filter = {};
};

Admission Admit(const AdminAccess& access, const AdminRequest& request);
// The same for the content of one filter, to which every user has rights of its own. A peer on loopback needs a
// password, too, since it may be a proxy. `to_any_host`: pages of every origin may read it, by whatever name.
Admission AdmitToFilter(const AdminAccess& access, const AdminRequest& request, std::string_view command,
                        std::string_view name, bool to_any_host);

// Returns the response to a request that is not admitted; nothing if it is.
std::optional<AdminResponse> RefusalOf(Admission admission);
// Returns a response of one line.
AdminResponse Refusal(int status, std::string text);

// Returns user and password of a header such as "Basic dXNlcjpwYXNzd29yZA=="; nothing if it is not one.
std::optional<Credentials> BasicCredentials(std::string_view authorization);

// Whether the value of a Host header can only mean this server: an address, a name without dots, or one below a
// top-level name that is reserved for private networks. Any other name may be one that its owner has pointed at this
// machine, so that a browser takes a page of his for one of ours (DNS rebinding).
bool IsPrivateHost(std::string_view host);

}  // namespace bitsieve::server
