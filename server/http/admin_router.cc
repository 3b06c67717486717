#include "server/http/admin_router.h"

#include <algorithm>
#include <utility>

namespace bitsieve::server {
namespace {

AdminResponse Refusal(int status, std::string text) { return {.status = status, .body = std::move(text) + "\n"}; }

AdminResponse PasswordRequest() {
  AdminResponse response = Refusal(401, "the name and password of a user of the server are required (HTTP Basic)");
  response.headers.emplace_back("WWW-Authenticate", R"(Basic realm="Bitsieve", charset="UTF-8")");
  return response;
}

}  // namespace

AdminResponse AdminRouter::Answer(const AdminRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    AdminResponse response = Refusal(405, "only GET and HEAD are allowed");
    response.headers.emplace_back("Allow", "GET, HEAD");
    return response;
  }
  const auto page = std::ranges::find(pages_, request.path, &AdminPage::path);
  if (page != pages_.end() && page->is_open) return page->answer(request);
  switch (Admit(access_, request)) {
    case Admission::kProtected:
      return Refusal(403,
                     "protected mode: without a password of the user default, other machines see only /healthz and "
                     "/readyz. Set requirepass-file or requirepass, or protected-mode no if every host of the network "
                     "is trusted");
    case Admission::kNeedsPassword:
      return PasswordRequest();
    case Admission::kStrangeHost:
      return Refusal(403, "the Host header must be an address, a name without dots or one of a private network");
    case Admission::kAllowed:
      break;
  }
  if (page == pages_.end()) return Refusal(404, "no such page; the pages are /, /metrics, /healthz and /readyz");
  return page->answer(request);
}

}  // namespace bitsieve::server
