// logging.h: sets up the one log of the process (spdlog's default logger), which every layer of the server writes to.
// Text: "2024-05-01T12:00:00.000Z info message"; JSON: {"time":"...","level":"info","message":"..."}. Time is UTC. A
// message is one line whatever it holds: clients cannot forge lines.
// The file is appended to, line by line, and can be opened anew: it can be rotated by renaming it and by copying and
// truncating it. Thread-safe once set up.
#pragma once

#include <string>
#include <string_view>

#include "config/options.h"
#include "core/base/result.h"

namespace bitsieve::server {

// Reads loglevel, logfile and logformat. kIo if the file cannot be opened; then the log stays what it was.
core::Status SetUpLogging(const config::Options& options);

// Opens the file anew, after it was renamed or removed; without an option logfile nothing happens. If it cannot be
// opened, logging continues in the old one, with a message about it.
void ReopenLog(const std::string& logfile);

// A word of the loglevel option.
void SetLogLevel(std::string_view level);

}  // namespace bitsieve::server
