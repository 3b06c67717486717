// server.h: the server as a whole: builds everything, runs until it is told to stop, and stops in reverse.
#pragma once

#include "config/options.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

// Serves until SIGTERM, SIGINT or SHUTDOWN; a second signal ends the process at once. Listens before the filters are
// loaded, and tells clients so until they are. Returns the exit status: 0 after a clean stop with everything saved, 1
// if the server could not start or the last snapshot failed; the reason is told in the log, or on standard error where
// nobody would see the log. A stop while the filters are still being loaded ends the process with status 0. Call it
// once in a process: it owns signals and the log.
int RunServer(const config::Options& options);
// On another disk than the system's. The disk outlives the call.
int RunServer(const config::Options& options, Disk& disk);

}  // namespace bitsieve::server
