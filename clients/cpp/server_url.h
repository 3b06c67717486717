// server_url.h: a server as one word: redis://[user:password@]host[:port], with bitsieve:// for the same, rediss:// and
// bitsieves:// for TLS, and unix:///path for a Unix socket. Without a port it is 6379 of redis, and
// 7379 of bitsieve. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bitsieve::clients {

struct ServerUrl {
  bool tls = false;
  std::string unixsocket;  // a path; empty: host and port
  std::string host;
  uint16_t port = 0;
  std::string user;
  std::string password;
};

// The error says what would be right.
core::Outcome<ServerUrl> ParseServerUrl(std::string_view text);

}  // namespace bitsieve::clients
