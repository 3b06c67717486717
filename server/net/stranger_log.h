// stranger_log.h: log lines that anyone who reaches a port can cause as often as they like. One a minute of each is a
// warning; the others are left out, or logged at debug. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/session/session.h"

namespace bitsieve::server {

// A connection is closed as soon as it is accepted; at debug if the client gets the reason.
void LogRefusal(const std::string& door, std::string_view why, bool is_told);
// A connection of the TLS port is closed without having been set up.
void LogFailedHandshake(const ClientRecord& client, const std::string& reason, int64_t now_ms);
// A browser was made to talk to the port.
void LogHttp(const ClientRecord& client, int64_t now_ms);

}  // namespace bitsieve::server
