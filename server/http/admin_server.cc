#include "server/http/admin_server.h"

#include <spdlog/spdlog.h>

#include <array>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/read_until.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/thread_name.h"

namespace bitsieve::server {

using namespace commands;

using asio::ip::tcp;

namespace {

constexpr std::string_view kOutOfMemory =
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 28\r\n\r\n"
    "the server is out of memory\n";

}  // namespace

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
    BeginPatience();
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
  void BeginPatience() {
    deadline_.expires_after(kPatience);
    deadline_.async_wait([weak = weak_from_this()](const asio::error_code& error) {
      const auto self = weak.lock();
      if (!error && self != nullptr) self->Close();
    });
  }
  void Answer() {
    asio::post(server_.workers_, [self = shared_from_this()]() mutable { MakeAnswer(std::move(self)); });
  }
  // On a worker, which an exception would end with the process.
  static void MakeAnswer(std::shared_ptr<Exchange> self) {
    core::NameThread("admin-page");
    try {
      self->answer_ = self->server_.engine_.Answer(self->request_, self->peer_);
    } catch (const std::exception&) {
      self->answer_ = {};
      self->failed_ = true;
    }
    WriteLater(std::move(self));
  }
  static void WriteLater(std::shared_ptr<Exchange> self) {
    asio::io_context& context = self->server_.context_;
    core::UntilThereIsMemory([&] { asio::post(context, [self] { self->Write(); }); });
  }
  void Write() {
    if (is_lost_) return Close();  // the client sees that the body is too short
    asio::async_write(socket_, asio::buffer(failed_ ? kOutOfMemory : std::string_view(answer_.bytes)),
                      [self = shared_from_this()](const asio::error_code& error, size_t) {
                        if (!error && self->answer_.rest != nullptr && !self->answer_.rest->AtEnd()) {
                          return self->Continue();
                        }
                        asio::error_code ignored;
                        self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
                        if (!error) self->Drain();
                      });
  }
  // Once all bytes so far are on their way, the next ones are made.
  void Continue() {
    BeginPatience();
    asio::post(server_.workers_, [self = shared_from_this()]() mutable { ReadOn(std::move(self)); });
  }
  // On a worker.
  static void ReadOn(std::shared_ptr<Exchange> self) {
    try {
      self->answer_.bytes.clear();
      self->is_lost_ = !self->answer_.rest->Read(kChunkBytes, self->answer_.bytes);
    } catch (const std::exception&) {
      self->is_lost_ = true;
    }
    WriteLater(std::move(self));
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
  HttpAnswer answer_;
  bool failed_ = false;   // there was no memory for the answer
  bool is_lost_ = false;  // the rest of the answer
  std::array<char, 1024> rest_;
};

AdminServer::~AdminServer() { Stop(); }

core::Outcome<void> AdminServer::Listen(const std::string& address, uint16_t port) {
  const std::string what = "admin port: cannot listen on " + address + ", port " + std::to_string(port) + ": ";
  asio::error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
  if (error) return tl::unexpected(what + "admin-bind must be an IP address");
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.non_blocking(true, error);
  if (!error) acceptor_.listen(kMaxExchanges, error);
  if (error) return tl::unexpected(what + error.message());
  return {};
}

void AdminServer::Repeat(std::chrono::seconds interval, std::function<void()> work) {
  repeated_.push_back(std::make_unique<Repeated>(context_, interval, std::move(work)));
  Arm(*repeated_.back());
}

void AdminServer::Arm(Repeated& repeated) {
  core::UntilThereIsMemory([&] {
    repeated.timer.expires_after(repeated.interval);
    repeated.timer.async_wait([this, &repeated](const asio::error_code& error) {
      if (!error) WorkAndArm(repeated);
    });
  });
}

void AdminServer::WorkAndArm(Repeated& repeated) {
  try {
    repeated.work();
  } catch (const std::bad_alloc&) {
    // Work that is done at intervals may be left out once.
  }
  Arm(repeated);
}

void AdminServer::Start() {
  thread_ = std::thread([this] { Run(); });
}

// A connection that runs out of memory is lost; the others continue.
void AdminServer::Run() {
  core::NameThread("admin");
  Accept();
  core::UntilThereIsMemory([this] { context_.run(); });
}

// Waits for a connection, and then takes it, in place of an asynchronous accept: that loses its handler with a
// connection for which there is no memory.
void AdminServer::Accept() {
  core::UntilThereIsMemory([this] {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](const asio::error_code& error) {
      if (!error) AcceptOne();
    });
  });
}

void AdminServer::AcceptOne() {
  try {
    asio::error_code error;
    tcp::socket socket = acceptor_.accept(error);
    // The system has no descriptors or no memory: it may have some in a moment.
    if (error && error != asio::error::would_block) std::this_thread::sleep_for(core::kOutOfMemoryPause);
    if (!error) Admit(std::move(socket));
  } catch (const std::bad_alloc&) {
    std::this_thread::sleep_for(core::kOutOfMemoryPause);
  }
  Accept();
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
