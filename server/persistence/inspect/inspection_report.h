// inspection_report.h: an inspection as text for people and as JSON for scripts. Thread-safe: free functions.
#pragma once

#include <string>

#include "server/persistence/inspect/inspection.h"

namespace bitsieve::server {

std::string TextOf(const Inspection& found);
// One object. Names and paths are any bytes: what is no UTF-8 is replaced in them.
std::string JsonOf(const Inspection& found);

}  // namespace bitsieve::server
