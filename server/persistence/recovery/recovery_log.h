// recovery_log.h: the lines of the log about what a start found in the data directory. Thread-safe: a free function.
#pragma once

#include <string>

#include "server/persistence/recovery/recovery.h"

namespace bitsieve::server {

void LogRecovery(const RecoveryReport& report, const std::string& directory);

}  // namespace bitsieve::server
