// listening.h: the doors through which clients come, as options say: port, tls-port and unixsocket. Confined to the
// main thread.
#pragma once

#include "config/options.h"
#include "core/base/result.h"
#include "server/net/net_server.h"

namespace bitsieve::server {

// Opens all of them; kIo if one of them cannot be, with its address and the reason.
core::Status Listen(NetServer& net, const config::Options& options);

}  // namespace bitsieve::server
