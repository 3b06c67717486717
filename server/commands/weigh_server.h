// weigh_server.h: as commands/weigh.h, of what only the server has. Confined to the context's loop.
#pragma once

#include "server/dispatch/server_context.h"

namespace bitsieve::server {

// More clients than this are many. Measured: a line of CLIENT LIST takes about 1 us.
inline constexpr size_t kManyClients = 256;
// A keyspace of more names is large. Measured: KEYS takes about 0.5 us a name, FLUSHALL 4 us.
inline constexpr uint64_t kManyNames = 256;

// All clients that there are.
commands::Weight WeighClients(ServerContext& context);
// All names that there are.
commands::Weight WeighNames(ServerContext& context);

}  // namespace bitsieve::server
