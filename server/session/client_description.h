// client_description.h: the line of CLIENT LIST about a connection. Thread-safe: a free function.
#pragma once

#include <cstdint>
#include <string>

#include "server/session/session.h"

namespace bitsieve::server {

// "id=7 addr=127.0.0.1:5000 ..."; `now_ms` is of the monotonic clock.
std::string DescribeClient(const ClientRecord& client, int64_t now_ms);

}  // namespace bitsieve::server
