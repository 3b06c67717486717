#include "server/net/address.h"

#include <algorithm>
#include <asio/io_context.hpp>

namespace bitsieve::server {
namespace {

using asio::ip::tcp;
using Endpoints = std::vector<tcp::endpoint>;

asio::error_code AppendEndpoints(const std::string& host, uint16_t port, Endpoints& endpoints) {
  asio::error_code error;
  const auto literal = asio::ip::make_address(host == "*" ? "0.0.0.0" : host, error);
  if (!error) {
    endpoints.emplace_back(literal, port);
    return error;
  }
  asio::io_context context;
  tcp::resolver resolver(context);
  for (const auto& entry : resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error)) {
    endpoints.push_back(entry.endpoint());
  }
  return error;
}

}  // namespace

core::Outcome<std::vector<tcp::endpoint>> ParseBindList(std::string_view list, uint16_t port) {
  constexpr std::string_view kSeparators = " \t,";
  Endpoints endpoints;
  size_t begin = 0;
  while ((begin = list.find_first_not_of(kSeparators, begin)) != std::string_view::npos) {
    const size_t end = std::min(list.find_first_of(kSeparators, begin), list.size());
    const std::string host(list.substr(begin, end - begin));
    if (const asio::error_code error = AppendEndpoints(host, port, endpoints)) {
      return tl::unexpected("bind: \"" + host + "\" is neither an address nor a known host name: " + error.message());
    }
    begin = end;
  }
  if (endpoints.empty()) return tl::unexpected<std::string>("bind: no address given");
  // A host name may stand for an address that is there already.
  std::sort(endpoints.begin(), endpoints.end());
  endpoints.erase(std::unique(endpoints.begin(), endpoints.end()), endpoints.end());
  return endpoints;
}

bool IsLoopback(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).is_loopback();
  }
  return address.is_loopback();
}

std::string AddressText(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  const std::string port = std::to_string(endpoint.port());
  return endpoint.address().is_v6() ? "[" + host + "]:" + port : host + ":" + port;
}

}  // namespace bitsieve::server
