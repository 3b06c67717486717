// admin_request.h: a request to the admin port and its response, without sockets or bytes of HTTP. Thread-compatible:
// plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/byte_source.h"

namespace bitsieve::server {

struct AdminRequest {
  std::string method = {};
  std::string target = {};                                  // as it came, with the query
  std::string path = {};                                    // decoded, without the query
  std::multimap<std::string, std::string> parameters = {};  // of the query, decoded: any bytes
  std::string host = {};                                    // the header; empty if it is missing or there are several
  std::string accept = {};
  std::string authorization = {};
  // Headers; empty if they are missing.
  std::string accept_encoding = {};
  std::string if_none_match = {};
  std::string if_range = {};
  std::string range = {};     // also empty if there are several
  bool takes_chunks = false;  // a body whose length is not known before
  bool from_loopback = false;

  // The first of this name; empty if there is none.
  std::string_view Parameter(const std::string& name) const {
    const auto [first, end] = parameters.equal_range(name);  // find() may return any of them
    return first == end ? std::string_view() : first->second;
  }
};

// A response with a `rest` has no `body`, since this is made while it is sent.
struct AdminResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::shared_ptr<ByteSource> rest = {};
  std::optional<uint64_t> rest_bytes = {};  // nothing if the length is not known before
};

using AdminHandler = std::function<AdminResponse(const AdminRequest& request)>;

}  // namespace bitsieve::server
