// http_engine.h: the bytes of one HTTP request in, those of its response out. It has no socket. Thread-safe if the
// handler is.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/admin_request.h"

namespace bitsieve::server {

// A request line and its headers; the empty line after them included. Requests have no body.
inline constexpr size_t kMaxHeadBytes = 16 * 1024;
inline constexpr std::string_view kHeadEnd = "\r\n\r\n";

struct HttpAnswer {
  std::string bytes = {};
  std::shared_ptr<ByteSource> rest = {};  // what follows them, as it is sent; null: nothing
};

class HttpEngine {
 public:
  explicit HttpEngine(AdminHandler handler) : handler_(std::move(handler)) {}

  // `head` ends with kHeadEnd, unless it is longer than allowed. `peer` is an address as text. An empty answer: there
  // is nothing to say. The connection is to be closed after it. May throw std::bad_alloc.
  HttpAnswer Answer(std::string_view head, const std::string& peer) const;

 private:
  const AdminHandler handler_;
};

}  // namespace bitsieve::server
