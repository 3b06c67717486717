#include "server/http/admin_server.h"

#include <spdlog/spdlog.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/read_until.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <new>
#include <utility>

#include "core/base/out_of_memory.h"

namespace bitsieve::server {

using asio::ip::tcp;

// One connection. It lives as long as an operation of it is under way. On the context's thread, except for the answer.
class AdminServer::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(AdminServer& server, tcp::socket socket)
      : server_(server), socket_(std::move(socket)), deadline_(server.context_) {
    asio::error_code error;
    const auto peer = socket_.remote_endpoint(error);
    if (!error) peer_ = peer.address().to_string();
  }

  void Start() {
    deadline_.expires_after(kPatience);
    deadline_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
      const auto self = weak.lock();
      if (!error && self != nullptr) self->Close();
    });
    asio::async_read_until(socket_, asio::dynamic_buffer(request_, kMaxHeadBytes), kHeadEnd,
                           [self = shared_from_this()](const asio::error_code& error, size_t bytes) {
                             // Not found: the head is too long, and the response says so.
                             if (error && error != asio::error::not_found) return;
                             if (!error) self->request_.resize(bytes);
                             self->Answer();
                           });
  }
  void Close() {
    asio::error_code ignored;
    socket_.close(ignored);
    deadline_.cancel();
  }

 private:
  void Answer() {
    asio::post(server_.workers_, [self = shared_from_this()]() mutable {
      try {
        self->response_ = self->server_.engine_.Answer(self->request_, self->peer_);
      } catch (const std::bad_alloc&) {
        self->response_.clear();
      }
      asio::io_context& context = self->server_.context_;
      asio::post(context, [self = std::move(self)] { self->Write(); });  // which is where it ends
    });
  }
  void Write() {
    asio::async_write(socket_, asio::buffer(response_),
                      [self = shared_from_this()](const asio::error_code& error, size_t) {
                        asio::error_code ignored;
                        self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
                        if (!error) self->Drain();
                      });
  }
  // Closing while there are bytes to read would take the response away from a client that has not read it yet.
  void Drain() {
    socket_.async_read_some(asio::buffer(rest_), [self = shared_from_this()](const asio::error_code& error, size_t) {
      if (error) return self->Close();
      self->Drain();
    });
  }

  AdminServer& server_;
  tcp::socket socket_;
  asio::steady_timer deadline_;
  std::string peer_;
  std::string request_;
  std::string response_;
  std::array<char, 1024> rest_;
};

AdminServer::~AdminServer() { Stop(); }

tl::expected<void, std::string> AdminServer::Listen(const std::string& address, uint16_t port) {
  const std::string what = "admin port: cannot listen on " + address + ", port " + std::to_string(port) + ": ";
  asio::error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
  if (error) return tl::unexpected(what + "admin-bind must be an IP address");
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(kMaxExchanges, error);
  if (error) return tl::unexpected(what + error.message());
  return {};
}

// The timer and the work live in the handler.
void AdminServer::Repeat(std::chrono::seconds interval, std::function<void()> work) {
  const auto timer = std::make_shared<asio::steady_timer>(context_, interval);
  timer->async_wait([this, timer, interval, work = std::move(work)](const asio::error_code& error) mutable {
    if (error) return;
    work();
    Repeat(interval, std::move(work));
  });
}

void AdminServer::Start() {
  thread_ = std::thread([this] { Run(); });
}

void AdminServer::Run() {
  while (true) {
    try {
      if (!accepting_) Accept();
      context_.run();
      return;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(core::kOutOfMemoryPause);
    }
  }
}

void AdminServer::Accept() {
  acceptor_.async_accept([this](const asio::error_code& error, tcp::socket socket) {
    accepting_ = false;
    // The system has no descriptors or no memory: it may have some in a moment.
    if (error) std::this_thread::sleep_for(core::kOutOfMemoryPause);
    if (!error) Admit(std::move(socket));
    Accept();
  });
  accepting_ = true;
}

void AdminServer::Admit(tcp::socket socket) {
  exchanges_.remove_if([](const std::weak_ptr<Exchange>& exchange) { return exchange.expired(); });
  if (exchanges_.size() >= kMaxExchanges) {
    if (const auto oldest = exchanges_.front().lock()) oldest->Close();
    exchanges_.pop_front();
  }
  const auto exchange = std::make_shared<Exchange>(*this, std::move(socket));
  exchanges_.push_back(exchange);
  exchange->Start();
}

void AdminServer::Stop() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
  workers_.stop();
  workers_.join();
}

}  // namespace bitsieve::server
