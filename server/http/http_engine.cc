#include "server/http/http_engine.h"

#include <httplib.h>

#include <algorithm>
#include <asio/ip/address.hpp>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

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

// Takes the headers Range out of a head: the library matches them by a regular expression that recurses once per byte.
// Returns the value of the header, if there is one of them.
std::string TakeRange(std::string& head) {
  constexpr std::string_view kName = "\nrange:";
  std::vector<std::string> values;
  for (;;) {
    const size_t at = core::LowerCase(head).find(kName);
    if (at == std::string::npos) return values.size() == 1 ? values.front() : "";
    const size_t begin = at + kName.size();
    const size_t end = head.find('\n', begin);  // there is one: the head ends with it
    const std::string value = head.substr(begin, end - begin);
    const size_t first = value.find_first_not_of(" \t\r");
    const size_t last = value.find_last_not_of(" \t\r");
    values.push_back(first == std::string::npos ? "" : value.substr(first, last - first + 1));
    head.erase(at + 1, end - at);
  }
}

// Makes the checks that are not left to the library: it reads as many headers as come. Null: nothing is wrong.
const char* Complaint(std::string_view head) {
  if (!head.ends_with(kHeadEnd)) return "431 Request Header Fields Too Large";
  if (head.find("\r\n") > kMaxTargetBytes) return "414 URI Too Long";
  if (std::ranges::count(head, '\n') > kMaxHeaders) return "431 Request Header Fields Too Large";
  return nullptr;
}

std::string Refusal(std::string_view status) {
  const std::string body = std::string(status) + "\n";
  return "HTTP/1.1 " + std::string(status) +
         "\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// A body of unknown length in the chunks of HTTP/1.1, by which a client sees whether it is whole.
class ChunkedSource final : public ByteSource {
 public:
  explicit ChunkedSource(std::shared_ptr<ByteSource> body) : body_(std::move(body)) {}

  bool AtEnd() const override { return ended_; }
  bool Read(size_t most, std::string& out) override {
    std::string chunk;
    if (!body_->AtEnd() && !body_->Read(most, chunk)) return false;
    if (!chunk.empty()) {
      char digits[16];
      const char* const end = std::to_chars(std::begin(digits), std::end(digits), chunk.size(), 16).ptr;
      out.append(digits, static_cast<size_t>(end - digits)).append("\r\n").append(chunk).append("\r\n");
    }
    if (!body_->AtEnd()) return true;
    out += "0\r\n\r\n";
    ended_ = true;
    return true;
  }

 private:
  const std::shared_ptr<ByteSource> body_;
  bool ended_ = false;
};

// Makes one answer. The library's server is made for each, which takes some microseconds: so that its callbacks have
// what belongs to the request. No request goes to another origin, none comes from one unless a page allows it, and
// nothing on a page runs that did not come with it.
class OneAnswer final : private httplib::Server {
 public:
  OneAnswer(const AdminHandler& handler, std::string range) : handler_(handler), range_(std::move(range)) {
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
      Fill(response, handler_(Translated(request)), request.method == "HEAD");
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

  HttpAnswer Make(std::string_view head, const std::string& peer) {
    MemoryStream stream(head, peer);
    bool closed = false;
    process_request(stream, true, closed, [this](httplib::Request& request) {
      accept_encoding_ = request.get_header_value("Accept-Encoding");
      request.headers.erase("Accept-Encoding");  // compressing a page takes longer than sending it
      request.headers.erase("Expect");           // no body is wanted
    });
    if (has_no_length_) EraseLength(stream.response);
    return {std::move(stream.response), std::move(rest_)};
  }

 private:
  AdminRequest Translated(const httplib::Request& request) const {
    return {.method = request.method,
            .target = request.target,
            .path = request.path,
            .parameters = request.params,
            .host = OnlyHeader(request, "Host"),
            .accept = request.get_header_value("Accept"),
            .authorization = OnlyHeader(request, "Authorization"),
            .accept_encoding = accept_encoding_,
            .if_none_match = OnlyHeader(request, "If-None-Match"),
            .if_range = OnlyHeader(request, "If-Range"),
            .range = range_,
            .takes_chunks = request.version == "HTTP/1.1",
            .from_loopback = IsLoopback(request.remote_addr)};
  }

  void Fill(httplib::Response& response, AdminResponse answer, bool is_head) {
    constexpr int kNoContent = 204, kNotModified = 304;
    response.status = answer.status;
    for (const auto& [name, value] : answer.headers) {
      response.headers.erase(name);
      response.set_header(name, value);
    }
    has_no_length_ = answer.status == kNoContent || answer.status == kNotModified;
    if (has_no_length_) return;
    response.set_header("Content-Type", answer.type);
    response.body = std::move(answer.body);
    if (answer.rest != nullptr) Announce(response, std::move(answer.rest), answer.rest_bytes, is_head);
  }

  void Announce(httplib::Response& response, std::shared_ptr<ByteSource> rest, std::optional<uint64_t> bytes,
                bool is_head) {
    if (bytes) {
      response.set_header("Content-Length", std::to_string(*bytes));
    } else {
      response.set_header("Transfer-Encoding", "chunked");
      rest = std::make_shared<ChunkedSource>(std::move(rest));
      has_no_length_ = true;
    }
    if (!is_head) rest_ = std::move(rest);
  }

  // The library says that a body is empty where there is none, or where it follows in chunks.
  static void EraseLength(std::string& response) {
    constexpr std::string_view kLength = "\r\nContent-Length: 0";
    const size_t at = response.find(kLength);
    if (at != std::string::npos) response.erase(at, kLength.size());
  }

  const AdminHandler& handler_;
  const std::string range_;
  std::string accept_encoding_;
  bool has_no_length_ = false;
  std::shared_ptr<ByteSource> rest_;
};

}  // namespace

HttpAnswer HttpEngine::Answer(std::string_view head, const std::string& peer) const {
  if (const char* const complaint = Complaint(head)) return {.bytes = Refusal(complaint)};
  std::string without_range(head);
  std::string range = TakeRange(without_range);
  return OneAnswer(handler_, std::move(range)).Make(without_range, peer);
}

}  // namespace bitsieve::server
