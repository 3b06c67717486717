// admin_port.h: the admin port as a whole: its pages, what they show, and the server that sends them.
//
//   socket -> AdminServer (bytes) -> HttpEngine (requests) -> AdminRouter (who may, which page) -> a page
//                                    FilterPages -> filters as they are
//                                    FilterCollector, in the background -> metrics and lists of filters
//
// Choose() and ServeFilters() are thread-safe; everything else is for one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "server/dispatch/environment.h"
#include "server/http/admin_access.h"
#include "server/http/admin_router.h"
#include "server/http/admin_server.h"
#include "server/http/dashboard_api.h"
#include "server/http/filter_collector.h"
#include "server/http/filter_pages.h"
#include "server/http/history.h"
#include "server/http/http_engine.h"

namespace bitsieve::server {

class AdminPort {
 public:
  // Everything that `server` points to outlives it; no loop's own statistics are needed.
  AdminPort(const Environment& server, AdminAccess access);
  ~AdminPort() { Stop(); }

  // The error names the address.
  core::Outcome<void> Listen(const std::string& address, uint16_t port) { return admin_server_.Listen(address, port); }
  // Chooses the filters that have metrics of their own: this many of the largest, and those that match one of the
  // patterns, which are separated by blanks.
  void Choose(uint32_t largest, std::string_view patterns);
  // Whether and to whom the port serves filters.
  void ServeFilters(FilterPageSettings settings) { filter_pages_.Configure(std::move(settings)); }
  void Start();
  void Stop();

 private:
  std::vector<AdminPage> Pages();
  AdminResponse Ready() const;
  AdminResponse Metrics(const AdminRequest& request) const;

  const Environment server_;
  FilterCollector collector_;
  History history_;
  const DashboardApi api_{server_, collector_, history_};
  FilterPages filter_pages_;
  const AdminRouter router_;
  const HttpEngine engine_;
  AdminServer admin_server_{engine_};
};

}  // namespace bitsieve::server
