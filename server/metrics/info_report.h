// info_report.h: the text of INFO, printed off the metric table. Thread-safe: free functions.
#pragma once

#include <string>

#include "server/dispatch/environment.h"

namespace bitsieve::server {

// Sections by name, in any case; "default" (or none), "all", which has those of commands as well, and "everything",
// which has the section bf, too.
// Unknown names return nothing.
std::string InfoReport(const Environment& environment, commands::Arguments sections);
// Whether that report looks at every filter.
bool VisitsAllFilters(commands::Arguments sections);

}  // namespace bitsieve::server
