#include "server/net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/ip/v6_only.hpp>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "server/net/address.h"

namespace bitsieve::server {
namespace {

using asio::ip::tcp;

// How long accepting rests when the system refuses descriptors or memory.
constexpr std::chrono::milliseconds kRest{100};
constexpr std::chrono::milliseconds kOutOfMemoryPause{1};
constexpr int kBacklog = 4096;  // the system lowers it to what it allows
constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);  // a refusal costs comfort, not correctness
}

}  // namespace

Listener::Listener(asio::io_context& context, std::span<const std::shared_ptr<EventLoop>> loops, ConnectionSlots& slots,
                   const NetSettings& settings)
    : context_(context), loops_(loops), slots_(slots), settings_(settings) {}

tl::expected<void, std::string> Listener::Open(std::string_view bind, uint16_t port) {
  auto endpoints = ParseBindList(bind, port);
  if (!endpoints) return tl::unexpected(endpoints.error());
  port_ = port;
  for (tcp::endpoint& endpoint : *endpoints) {
    endpoint.port(port_);
    if (const asio::error_code error = OpenDoor(endpoint)) {
      return tl::unexpected("cannot listen on " + AddressText(endpoint) + ": " + error.message());
    }
  }
  return {};
}

asio::error_code Listener::OpenDoor(const tcp::endpoint& endpoint) {
  auto door = std::make_unique<Door>(context_);
  tcp::acceptor& acceptor = door->acceptor;
  asio::error_code error;
  if (acceptor.open(endpoint.protocol(), error)) return error;
  if (acceptor.set_option(tcp::acceptor::reuse_address(true), error)) return error;
  // "0.0.0.0 ::" are two sockets, and each serves its own kind of address.
  if (endpoint.address().is_v6() && acceptor.set_option(asio::ip::v6_only(true), error)) return error;
  if (acceptor.bind(endpoint, error)) return error;
  if (acceptor.listen(kBacklog, error)) return error;
  const tcp::endpoint local = acceptor.local_endpoint(error);
  if (error) return error;
  port_ = local.port();
  addresses_.push_back(AddressText(local));
  doors_.push_back(std::move(door));
  return {};
}

void Listener::Start() {
  for (const auto& door : doors_) Accept(*door);
}

void Listener::Close() {
  for (const auto& door : doors_) {
    asio::error_code ignored;
    door->acceptor.close(ignored);
    door->retry.cancel();
  }
}

// Whatever happens: an acceptor that is no longer waited on stays closed.
void Listener::Accept(Door& door) {
  for (;; std::this_thread::sleep_for(kOutOfMemoryPause)) {
    try {
      return DoAccept(door);
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

void Listener::DoAccept(Door& door) {
  door.acceptor.async_accept([this, &door](const asio::error_code& error, tcp::socket socket) {
    if (error) return OnFailed(door, error);
    OnAccepted(door, std::move(socket));
  });
}

void Listener::OnAccepted(Door& door, tcp::socket socket) {
  door.resting = false;
  auto slot = slots_.TryTake(settings_.maxclients.load(std::memory_order_relaxed));
  try {
    if (slot) {
      LetIn(std::move(socket), std::move(slot));
    } else {
      Refuse(std::move(socket));
    }
  } catch (const std::bad_alloc&) {
    spdlog::warn("A connection was closed: the server is out of memory for it");
  }
  Accept(door);
}

void Listener::LetIn(tcp::socket socket, ConnectionSlots::Slot slot) {
  asio::error_code error;
  const tcp::endpoint remote = socket.remote_endpoint(error);
  const tcp::endpoint local = error ? tcp::endpoint() : socket.local_endpoint(error);
  if (!error) socket.non_blocking(true, error);
  if (error) return;  // gone already
  Configure(socket.native_handle());
  std::string address = AddressText(remote);
  std::string local_address = AddressText(local);
  Socket released(socket.release(error));
  if (error) return;
  EventLoop& loop = *loops_[turn_];
  turn_ = (turn_ + 1) % loops_.size();
  loop.Adopt({std::move(released), std::move(slot), std::move(address), std::move(local_address)});
}

void Listener::Configure(int socket) const {
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  const auto keepalive_s = static_cast<int>(settings_.tcp_keepalive_s.load(std::memory_order_relaxed));
  if (keepalive_s == 0) return;
  // The peer is given up after three probes that together take as long as the silence before the first.
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_s);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, keepalive_s / 3));
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void Listener::Refuse(tcp::socket socket) {
  LoopStats::Add(loops_[0]->stats().connections_rejected, 1);  // no other thread counts these
  spdlog::debug("Refused a connection: maxclients {} reached", settings_.maxclients.load(std::memory_order_relaxed));
  asio::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(kTooMany), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void Listener::OnFailed(Door& door, const asio::error_code& error) {
  if (error == asio::error::operation_aborted || !door.acceptor.is_open()) return;
  // The client gave up before it was its turn: the next one.
  if (error == asio::error::connection_aborted) return Accept(door);
  if (!std::exchange(door.resting, true)) {
    spdlog::warn("Cannot accept connections on port {}: {}; trying again every {} ms", port_, error.message(),
                 kRest.count());
  }
  door.retry.expires_after(kRest);
  try {
    door.retry.async_wait([this, &door](const asio::error_code& cancelled) {
      if (!cancelled) Accept(door);
    });
  } catch (const std::bad_alloc&) {
    Accept(door);
  }
}

}  // namespace bitsieve::server
