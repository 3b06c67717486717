#include "server/http/http_engine.h"

#include <httplib.h>

#include <algorithm>
#include <asio/ip/address.hpp>
#include <cstring>
#include <utility>

#include "core/base/parse.h"

namespace bitsieve::server {
namespace {

constexpr int kMaxHeaders = 100;
constexpr size_t kMaxTargetBytes = 4096;

// The memory of a request's bytes and of its response, in the place of a socket.
class MemoryStream final : public httplib::Stream {
 public:
  MemoryStream(std::string_view head, std::string peer) : head_(head), peer_(std::move(peer)) {}

  bool is_readable() const override { return !head_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t most) override {
    const size_t count = std::min(most, head_.size());
    std::memcpy(to, head_.data(), count);
    head_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t count) override {
    response.append(bytes, count);
    return static_cast<ssize_t>(count);
  }
  void get_remote_ip_and_port(std::string& address, int& port) const override {
    address = peer_;
    port = 0;
  }
  void get_local_ip_and_port(std::string& address, int& port) const override {
    address.clear();
    port = 0;
  }
  socket_t socket() const override { return -1; }

  std::string response;

 private:
  std::string_view head_;
  const std::string peer_;
};

bool IsLoopback(const std::string& address) {
  asio::error_code error;
  const auto parsed = asio::ip::make_address(address, error);
  if (error) return false;
  if (parsed.is_v6() && parsed.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, parsed.to_v6()).is_loopback();
  }
  return parsed.is_loopback();
}

std::string OnlyHeader(const httplib::Request& request, const char* name) {
  return request.get_header_value_count(name) == 1 ? request.get_header_value(name) : "";
}

AdminRequest Translated(const httplib::Request& request) {
  return {.method = request.method,
          .path = request.path,
          .parameters = request.params,
          .host = OnlyHeader(request, "Host"),
          .accept = request.get_header_value("Accept"),
          .authorization = OnlyHeader(request, "Authorization"),
          .from_loopback = IsLoopback(request.remote_addr)};
}

// Makes the checks that are not left to the library: it reads as many headers as come, and matches ranges by a regular
// expression that recurses once per byte. Null: nothing is wrong.
const char* Complaint(std::string_view head) {
  if (!head.ends_with(kHeadEnd)) return "431 Request Header Fields Too Large";
  if (head.find("\r\n") > kMaxTargetBytes) return "414 URI Too Long";
  if (std::ranges::count(head, '\n') > kMaxHeaders) return "431 Request Header Fields Too Large";
  if (core::LowerCase(head).find("\nrange:") != std::string::npos) return "400 Bad Request";
  return nullptr;
}

std::string Refusal(std::string_view status) {
  const std::string body = std::string(status) + "\n";
  return "HTTP/1.1 " + std::string(status) +
         "\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

}  // namespace

// No request goes to another origin, none comes from one, and nothing on a page runs that did not come with it.
class HttpEngine::Impl final : private httplib::Server {
 public:
  explicit Impl(AdminHandler handler) : handler_(std::move(handler)) {
    set_default_headers({
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cache-Control", "no-store"},
    });
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Fill(response, handler_(Translated(request)));
      return HandlerResponse::Handled;
    });
    // The library would put what went wrong into a header.
    set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
      response.status = 500;
      response.set_content("the server could not make this page\n", "text/plain");
    });
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) response.set_content(std::to_string(response.status) + "\n", "text/plain");
    });
  }

  std::string Answer(std::string_view head, const std::string& peer) {
    MemoryStream stream(head, peer);
    bool closed = false;
    process_request(stream, true, closed, [](httplib::Request& request) {
      request.headers.erase("Accept-Encoding");  // compressing takes longer than sending
      request.headers.erase("Expect");           // no body is wanted
    });
    return std::move(stream.response);
  }

 private:
  static void Fill(httplib::Response& response, AdminResponse answer) {
    response.status = answer.status;
    for (const auto& [name, value] : answer.headers) {
      response.headers.erase(name);
      response.set_header(name, value);
    }
    response.set_header("Content-Type", answer.type);
    response.body = std::move(answer.body);
  }

  const AdminHandler handler_;
};

HttpEngine::HttpEngine(AdminHandler handler) : impl_(std::make_unique<Impl>(std::move(handler))) {}
HttpEngine::~HttpEngine() = default;

std::string HttpEngine::Answer(std::string_view head, const std::string& peer) const {
  if (const char* const complaint = Complaint(head)) return Refusal(complaint);
  return impl_->Answer(head, peer);
}

}  // namespace bitsieve::server
