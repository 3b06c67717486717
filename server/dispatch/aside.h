// aside.h: a command whose handler runs on a worker instead of its loop, with the same context except for a session of
// its own: handlers that may run aside leave the session alone. Its reply is deferred, so that the connection runs
// nothing before it.
// RunAside is confined to its loop.
#pragma once

#include "server/dispatch/server_context.h"

namespace bitsieve::server {

// Defers the reply until context.row's handler has run on environment.workers, which are there. Arguments of many bytes
// stay where they are if context.bytes can keep them there; others are copied. Once the deferred reply is started, the
// command takes its bytes out of the account of all connections when it has run, which may be after its connection has
// ended; until then the connection accounts for them.
void RunAside(ServerContext& context, commands::Weight weight);

}  // namespace bitsieve::server
