// address.h: addresses as people write them: "127.0.0.1 ::1" in the option `bind`, "[::1]:7379" in a log line.
// Thread-safe: pure functions, except for the name lookup.
#pragma once

#include <asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace bitsieve::server {

// The endpoints of a list of addresses or host names, separated by blanks or commas; "*" is every IPv4 address.
// The error names the one that is not an address of this machine.
core::Outcome<std::vector<asio::ip::tcp::endpoint>> ParseBindList(std::string_view list, uint16_t port);

// Whether a peer of this address is on this machine: 127.0.0.0/8, ::1, or the former mapped to IPv6.
bool IsLoopback(const asio::ip::address& address);

std::string AddressText(const asio::ip::tcp::endpoint& endpoint);

}  // namespace bitsieve::server
