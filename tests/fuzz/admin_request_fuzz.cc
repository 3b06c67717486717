// The admin port must answer any request with one well-formed response, or none; and it must not show a page that needs
// a password, or a host that can only mean this server, to a request that lacks it.
//
// Input: one byte for the settings and the sender, then the head of the request; the empty line after it is added if it
// is missing.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/admin_router.h"
#include "server/http/byte_range.h"
#include "server/http/filter_list.h"
#include "server/http/filter_pages.h"
#include "server/http/http_engine.h"
#include "server/http/shown_name.h"

namespace {

using namespace bitsieve::server;

constexpr std::string_view kSecret = "a page for some";

void Expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

// Handles the parameters that a browser sent as the page does.
AdminResponse Search(const AdminRequest& request) {
  static const FilterList kNone;
  const auto page = kNone.Find({.sort = request.Parameter("sort"), .search = request.Parameter("search")});
  const std::string shown = ShownName(request.Parameter("search"));
  for (const char c : shown) Expect(static_cast<unsigned char>(c) >= ' ' && c != '\x7f', "names are shown as text");
  return {.body = std::string(kSecret) + shown + UrlEncoded(request.Parameter("search")) + (page ? "1" : "0")};
}

bool is_protected = false;
bool needs_password = false;
bool was_allowed = false;

const AdminAccess& Access() {
  static const AdminAccess kAccess{
      .is_protected = [] { return is_protected && !needs_password; },
      .needs_password = [] { return needs_password; },
      .may_read = [](std::string_view user, std::string_view password) { return user == "u" && password == "p"; },
      .admit_to_filter =
          [](const std::optional<Credentials>& given, std::string_view, std::string_view) {
            const bool is_wrong = given && *given != Credentials{"u", "p"};
            return is_wrong ? Admission::kNeedsPassword : Admission::kAllowed;
          }};
  return kAccess;
}

// A page of a filter, without the filter.
AdminResponse FilterPage(const AdminRequest& request) {
  const auto path = ParseFilterPath(request.target);
  if (!path) return Refusal(404, "no such page");
  if (auto refusal = RefusalOf(AdmitToFilter(Access(), request, "bf.follow", path->name, false))) return *refusal;
  Expect(path->name.size() <= request.target.size(), "names are decoded");
  const std::string body(kSecret);
  const auto range = ParseByteRange(request.range, body.size());
  if (!range) return {.body = body};
  Expect(range->begin <= range->end && range->end <= body.size(), "ranges are within the body");
  return {.status = 206, .body = body.substr(range->begin, range->bytes())};
}

const AdminRouter& Router() {
  static const AdminRouter kRouter(
      {{"/healthz", [](const AdminRequest&) { return AdminResponse{.body = "alive"}; }, true},
       {"/", [](const AdminRequest&) { return AdminResponse{.body = std::string(kSecret)}; }},
       {"/api/filters", Search}},
      Access(), FilterPage);
  return kRouter;
}

const HttpEngine& Engine() {
  static const HttpEngine kEngine([](const AdminRequest& request) {
    AdminResponse response = Router().Answer(request);
    const bool has_password = request.authorization.find("dTpw") != std::string::npos;
    const bool is_open = !needs_password && !is_protected;
    was_allowed =
        (needs_password && has_password) || ((request.from_loopback || is_open) && IsPrivateHost(request.host));
    return response;
  });
  return kEngine;
}

void CheckResponse(const std::string& response) {
  if (response.empty()) return;
  Expect(response.starts_with("HTTP/1.1 "), "there is a status line");
  const size_t end = response.find(kHeadEnd);
  Expect(end != std::string::npos, "headers end");
  const std::string_view headers = std::string_view(response).substr(0, end);
  const size_t length_at = headers.find("Content-Length: ");
  Expect(length_at != std::string_view::npos, "the length is said");
  const size_t length = std::strtoul(response.c_str() + length_at + 16, nullptr, 10);
  const size_t body = response.size() - end - kHeadEnd.size();
  Expect(body == length || body == 0, "the body is as long as was said");
  const bool is_shown = response.find(kSecret, end) != std::string::npos;
  Expect(!is_shown || was_allowed, "pages are shown to those who may see them");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  needs_password = (data[0] & 1) != 0;
  is_protected = (data[0] & 4) != 0;
  was_allowed = false;
  std::string head(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t end = head.find(kHeadEnd);
  if (end != std::string::npos) head.resize(end);
  head += kHeadEnd;
  CheckResponse(Engine().Answer(head, (data[0] & 2) != 0 ? "127.0.0.1" : "10.0.0.1").bytes);
  return 0;
}
