// filter_pages.h: filters as pages of the admin port, for copies of them elsewhere and for caches in between:
//
//   GET /filters/NAME                             the dump of the filter (docs/formats/dump.md)
//   GET /filters/NAME/changes?since=POSITION&count=COUNT    its changes since (docs/formats/changes.md)
//
// They say what BF.FOLLOW and BF.CHANGES do. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/filter/filter_ptr.h"
#include "server/dispatch/environment.h"
#include "server/http/admin_access.h"
#include "server/http/admin_request.h"

namespace bitsieve::server {

struct FilterPageSettings {
  bool are_served = false;
  std::string origin = {};  // whose pages may read them in browsers: one, "*" for all, empty for none but this server's
};

// A filter, or its changes, as a path below kFiltersPath names them.
struct FilterPath {
  std::string name;  // any bytes
  bool of_changes = false;

  bool operator==(const FilterPath&) const = default;
};
// Reads the target of a request, such as "/filters/a%2Fb/changes?since=x". Nothing if it is not such a path.
std::optional<FilterPath> ParseFilterPath(std::string_view target);

class FilterPages {
 public:
  // Everything that `server` points to outlives it.
  FilterPages(const Environment& server, AdminAccess access) : server_(server), access_(std::move(access)) {}

  void Configure(FilterPageSettings settings);
  // The target of the request begins with kFiltersPath.
  AdminResponse Answer(const AdminRequest& request) const;

 private:
  AdminResponse Find(const AdminRequest& request, const FilterPageSettings& settings) const;
  AdminResponse Dump(const AdminRequest& request, const core::FilterPtr& filter) const;
  AdminResponse Changes(const AdminRequest& request, const core::Filter& filter) const;
  // Returns whether everyone who can reach the port may see what the request gets, so that caches may share it.
  bool IsPublic(const AdminRequest& request) const;

  const Environment server_;
  const AdminAccess access_;
  mutable core::Mutex mutex_;
  FilterPageSettings settings_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
