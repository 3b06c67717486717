// admin_request.h: a request to the admin port and its response, without sockets or bytes of HTTP. Thread-compatible:
// plain values.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bitsieve::server {

struct AdminRequest {
  std::string method = {};
  std::string path = {};                                    // decoded, without the query
  std::multimap<std::string, std::string> parameters = {};  // of the query, decoded: any bytes
  std::string host = {};                                    // the header; empty if it is missing or there are several
  std::string accept = {};
  std::string authorization = {};
  bool from_loopback = false;

  // The first of this name; empty if there is none.
  std::string_view Parameter(const std::string& name) const {
    const auto [first, end] = parameters.equal_range(name);  // find() may return any of them
    return first == end ? std::string_view() : first->second;
  }
};

struct AdminResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

using AdminHandler = std::function<AdminResponse(const AdminRequest& request)>;

}  // namespace bitsieve::server
