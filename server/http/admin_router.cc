#include "server/http/admin_router.h"

#include <algorithm>
#include <optional>

namespace bitsieve::server {

AdminResponse AdminRouter::Answer(const AdminRequest& request) const {
  if (filters_ && request.target.starts_with(kFiltersPath)) return filters_(request);
  if (request.method != "GET" && request.method != "HEAD") return MethodRefusal();
  const auto page = std::ranges::find(pages_, request.path, &AdminPage::path);
  if (page != pages_.end() && page->is_open) return page->answer(request);
  if (auto refusal = RefusalOf(Admit(access_, request))) return std::move(*refusal);
  if (page == pages_.end()) return Refusal(404, "no such page; the pages are /, /metrics, /healthz and /readyz");
  return page->answer(request);
}

AdminResponse MethodRefusal() {
  AdminResponse response = Refusal(405, "only GET and HEAD are allowed");
  response.headers.emplace_back("Allow", "GET, HEAD");
  return response;
}

}  // namespace bitsieve::server
