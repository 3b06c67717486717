#include "server/http/admin_port.h"

#include <sstream>
#include <utility>
#include <vector>

#include "server/dispatch/server_control.h"
#include "server/http/dashboard_files.h"
#include "server/http/metrics_report.h"
#include "server/session/client_list.h"
#include "server/stats/stats.h"

namespace bitsieve::server {
namespace {

// Why clients should not be sent here; empty if they should.
std::string Trouble(const Environment& server) {
  if (server.clients->draining.load(std::memory_order_relaxed)) return "the server is stopping";
  if (server.stats->Loading()) return "the filters are being loaded";
  const LogStatus log = server.control->Log();
  if (log.in_trouble) return "the log cannot be written: " + log.trouble;
  if (!server.control->Snapshot().last_ok) return "the last snapshot failed: the server's log says why";
  return "";
}

}  // namespace

AdminPort::AdminPort(const Environment& server, AdminAccess access)
    : server_(server),
      collector_(*server.keyspace, [stats = server.stats] { return stats->Loading(); }),
      filter_pages_(server, access),
      router_(Pages(), std::move(access),
              [this](const AdminRequest& request) { return filter_pages_.Answer(request); }),
      engine_([this](const AdminRequest& request) { return router_.Answer(request); }) {}

void AdminPort::Choose(uint32_t largest, std::string_view patterns) {
  ChosenFilters chosen{.largest = largest};
  std::istringstream words{std::string(patterns)};
  for (std::string word; words >> word;) chosen.patterns.push_back(word);
  collector_.Choose(std::move(chosen));
}

void AdminPort::Start() {
  collector_.Start();
  admin_server_.Repeat(History::kInterval, [this] { history_.Take(server_); });
  admin_server_.Start();
}

void AdminPort::Stop() {
  admin_server_.Stop();
  collector_.Stop();
}

std::vector<AdminPage> AdminPort::Pages() {
  constexpr bool kOpen = true;
  std::vector<AdminPage> pages = {
      {"/healthz", [](const AdminRequest&) { return AdminResponse{.body = "alive\n"}; }, kOpen},
      {"/readyz", [this](const AdminRequest&) { return Ready(); }, kOpen},
      {"/metrics", [this](const AdminRequest& request) { return Metrics(request); }},
      {"/api/status", [this](const AdminRequest&) { return api_.Status(); }},
      {"/api/history", [this](const AdminRequest& request) { return api_.Recent(request); }},
      {"/api/filters", [this](const AdminRequest& request) { return api_.Filters(request); }},
      {"/api/filter", [this](const AdminRequest& request) { return api_.Filter(request); }},
  };
  for (const DashboardFile& file : DashboardFiles()) {
    pages.push_back({std::string(file.path), [file](const AdminRequest&) {
                       return AdminResponse{.type = std::string(file.type), .body = std::string(file.content)};
                     }});
  }
  return pages;
}

AdminResponse AdminPort::Ready() const {
  const std::string trouble = Trouble(server_);
  return trouble.empty() ? AdminResponse{.body = "ready\n"} : AdminResponse{.status = 503, .body = trouble + "\n"};
}

AdminResponse AdminPort::Metrics(const AdminRequest& request) const {
  const ExpositionFormat format = PreferredFormat(request.accept);
  const auto filters = collector_.Latest();
  return {.type = std::string(ContentType(format)), .body = MetricsReport({server_, filters.get()}, format)};
}

}  // namespace bitsieve::server
