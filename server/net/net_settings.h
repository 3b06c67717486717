// net_settings.h: limits of the network side, most of which options may change at run time. They hold from when they
// are filled.
// Thread-safe: each is read and written on its own; relaxed, since no value promises anything about another.
#pragma once

#include <atomic>
#include <cstdint>

namespace bitsieve::server {

struct NetSettings {
  std::atomic<uint32_t> maxclients{0};
  std::atomic<uint32_t> timeout_s{0};           // a connection may be idle that long; 0: for ever
  std::atomic<uint32_t> tcp_keepalive_s{0};     // of connections accepted from now on; 0: off
  std::atomic<bool> protected_mode{false};      // without a password only clients of this machine are let in
  std::atomic<uint64_t> output_limit_bytes{0};  // replies that a client may leave unread
  std::atomic<uint32_t> handshake_ms{10'000};   // how long a client has for the TLS handshake; no option
};

}  // namespace bitsieve::server
