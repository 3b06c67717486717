// admin_router.h: what the admin port answers: finds the page of a request and checks whether it may be seen.
// Thread-safe if the pages are.
#pragma once

#include <string>
#include <vector>

#include "server/http/admin_access.h"
#include "server/http/admin_request.h"

namespace bitsieve::server {

struct AdminPage {
  std::string path;
  AdminHandler answer;
  bool is_open = false;  // to everyone, without a password and by whatever name of the host
};

class AdminRouter {
 public:
  AdminRouter(std::vector<AdminPage> pages, AdminAccess access)
      : pages_(std::move(pages)), access_(std::move(access)) {}

  AdminResponse Answer(const AdminRequest& request) const;

 private:
  const std::vector<AdminPage> pages_;
  const AdminAccess access_;
};

}  // namespace bitsieve::server
