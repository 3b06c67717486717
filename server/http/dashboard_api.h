// dashboard_api.h: what the dashboard reads, as JSON. Names of filters come twice: as text to be shown, and as they
// stand in a URL. Thread-safe.
#pragma once

#include "core/base/json_writer.h"
#include "server/dispatch/environment.h"
#include "server/http/admin_request.h"
#include "server/http/filter_collector.h"
#include "server/http/filter_list.h"
#include "server/http/history.h"

namespace bitsieve::server {

class DashboardApi {
 public:
  // All outlive it.
  DashboardApi(const Environment& server, FilterCollector& collector, const History& history)
      : server_(server), collector_(collector), history_(history) {}

  // The fields of INFO by section; how long the longest rounds of the loops took lately.
  AdminResponse Status() const;
  // Points after the one of the number `after`.
  AdminResponse Recent(const AdminRequest& request) const;
  // A page of the list of filters: `sort`, `order` (asc or desc), `search`, `offset`, `limit`.
  AdminResponse Filters(const AdminRequest& request) const;
  // Returns what BF.INFO FULL shows of the filter `name`, and how its error rate rises.
  AdminResponse Filter(const AdminRequest& request) const;

 private:
  void WriteRow(core::JsonWriter& json, const FilterList& list, const FilterList::Row& row) const;

  const Environment& server_;
  FilterCollector& collector_;
  const History& history_;
};

}  // namespace bitsieve::server
