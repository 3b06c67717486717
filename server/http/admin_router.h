// admin_router.h: what the admin port answers: finds the page of a request and checks whether it may be seen.
// Thread-safe if the pages are.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/admin_access.h"
#include "server/http/admin_request.h"

namespace bitsieve::server {

// Paths below this one are filters.
inline constexpr std::string_view kFiltersPath = "/filters/";

AdminResponse MethodRefusal();

struct AdminPage {
  std::string path;
  AdminHandler answer;
  bool is_open = false;  // to everyone, without a password and by whatever name of the host
};

class AdminRouter {
 public:
  // `filters` answers what is below kFiltersPath, and checks by itself who may see it.
  AdminRouter(std::vector<AdminPage> pages, AdminAccess access, AdminHandler filters = nullptr)
      : pages_(std::move(pages)), access_(std::move(access)), filters_(std::move(filters)) {}

  AdminResponse Answer(const AdminRequest& request) const;

 private:
  const std::vector<AdminPage> pages_;
  const AdminAccess access_;
  const AdminHandler filters_;
};

}  // namespace bitsieve::server
