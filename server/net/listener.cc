#include "server/net/listener.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/ip/v6_only.hpp>
#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "server/net/address.h"

namespace bitsieve::server {
namespace {

using asio::ip::tcp;

// How long accepting rests when the system refuses descriptors or memory.
constexpr std::chrono::milliseconds kRest{100};
constexpr std::chrono::milliseconds kOutOfMemoryPause{1};
constexpr int kAtOnce = 64;     // connections accepted before timers and other doors have their turn
constexpr int kBacklog = 4096;  // the system lowers it to what it allows
constexpr std::string_view kTooMany = "-ERR max number of clients reached\r\n";

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);  // a refusal costs comfort, not correctness
}

void SetKeepalive(int socket, uint32_t seconds) {
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, seconds == 0 ? 0 : 1);
  if (seconds == 0) return;
  // The peer is given up after three probes that together take as long as the silence before the first.
  const auto idle_s = static_cast<int>(seconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, idle_s / 3));
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

tcp::endpoint LocalEndpoint(const Socket& socket) {
  tcp::endpoint local;
  auto size = static_cast<socklen_t>(local.capacity());
  if (getsockname(socket.descriptor(), local.data(), &size) == 0) local.resize(size);
  return local;
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
  if (acceptor.non_blocking(true, error)) return error;
  SetOption(acceptor.native_handle(), IPPROTO_TCP, TCP_NODELAY, 1);  // connections inherit it
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
      return Wait(door);
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

void Listener::Wait(Door& door) {
  door.acceptor.async_wait(tcp::acceptor::wait_read, [this, &door](const asio::error_code& error) {
    if (!error) AcceptSome(door);
  });
}

void Listener::AcceptSome(Door& door) {
  for (int i = 0; i < kAtOnce; ++i) {
    tcp::endpoint remote;
    auto size = static_cast<socklen_t>(remote.capacity());
    Socket socket(accept4(door.acceptor.native_handle(), remote.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.descriptor() < 0) {
      door.all_inherit |= errno == EAGAIN;
      if (errno == EAGAIN) break;
      if (errno == EINTR || errno == ECONNABORTED) continue;  // gave up before it was its turn
      return Rest(door, errno);
    }
    door.resting = false;
    remote.resize(size);
    // What connections inherit changes with the setting. Those that wait may have come before.
    const uint32_t keepalive_s = settings_.tcp_keepalive_s.load(std::memory_order_relaxed);
    if (std::exchange(door.keepalive_s, keepalive_s) != keepalive_s) {
      SetKeepalive(door.acceptor.native_handle(), keepalive_s);
      door.all_inherit = false;
    }
    if (!door.all_inherit) SetKeepalive(socket.descriptor(), keepalive_s);
    OnAccepted(std::move(socket), remote);
  }
  Accept(door);
}

void Listener::OnAccepted(Socket socket, const tcp::endpoint& remote) {
  auto slot = slots_.TryTake(settings_.maxclients.load(std::memory_order_relaxed));
  if (!slot) return Refuse(socket);
  try {
    LetIn(std::move(socket), std::move(slot), remote);
  } catch (const std::bad_alloc&) {
    spdlog::warn("A connection was closed: the server is out of memory for it");
  }
}

void Listener::LetIn(Socket socket, ConnectionSlots::Slot slot, const tcp::endpoint& remote) {
  std::string address = AddressText(remote);
  std::string local_address = AddressText(LocalEndpoint(socket));
  EventLoop& loop = *loops_[turn_];
  turn_ = (turn_ + 1) % loops_.size();
  loop.Adopt({std::move(socket), std::move(slot), std::move(address), std::move(local_address)});
}

void Listener::Refuse(const Socket& socket) {
  LoopStats::Add(loops_[0]->stats().connections_rejected, 1);  // no other thread counts these
  spdlog::debug("Refused a connection: maxclients {} reached", settings_.maxclients.load(std::memory_order_relaxed));
  socket.Send(kTooMany);
}

void Listener::Rest(Door& door, int error) {
  if (!std::exchange(door.resting, true)) {
    spdlog::warn("Cannot accept connections on port {}: {}; trying again every {} ms", port_,
                 std::system_category().message(error), kRest.count());
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
