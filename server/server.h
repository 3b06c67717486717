// server.h: the server as a whole: builds everything, runs until it is stopped, and takes everything down in reverse.
#pragma once

#include "config/loader.h"
#include "config/options.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

// Serves until SIGTERM, SIGINT or SHUTDOWN; a second signal ends the process at once. Listens before the filters are
// loaded, and replies with an error until they are. Returns the exit status: 0 after a clean stop with everything
// saved, 1 if the server could not start or the last snapshot failed; the reason is in the log, or on standard error
// where the log would not be seen. A stop while the filters are still being loaded ends the process with status 0. Call
// it once in a process: it owns signals and the log. The options were loaded from `sources`, which SIGHUP reads again.
int RunServer(const config::Options& options, const config::Sources& sources);
// On another disk than the system's. The disk outlives the call.
int RunServer(const config::Options& options, const config::Sources& sources, Disk& disk);

}  // namespace bitsieve::server
